// The configuration as both services see it after loading: resolved, validated, frozen. The YAML's own shape is the
// JSON Schema in services/state; every default is written there once.

import type { Isolation } from '../link/keys.ts';

export type Ask = 'caller' | 'never';

export interface PoolSettings {
  /** Processes per pool key. */
  readonly max: number;
  readonly minWarm: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly maxUses: number;
  /** On how many nodes a busy `shared` server may run. Absent: one. */
  readonly nodes?: number;
  /** A process that uses more, with all it started, takes nothing new. Absent: 1024. 0: no cap. */
  readonly maxMemoryMb?: number;
  /** One that uses more is ended at once. Absent: four times the other. */
  readonly hardMemoryMb?: number;
}

/** What the kernel holds each of its processes to (setrlimit). */
export interface ProcessLimits {
  readonly openFiles?: number;
  /** Counted over all processes of the same user. */
  readonly processes?: number;
  readonly fileSizeMb?: number;
  readonly cpuSeconds?: number;
  readonly addressSpaceMb?: number;
}

export interface StdioSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `~`: its private directory. */
  readonly cwd: string;
  readonly limits?: ProcessLimits;
  readonly uid?: number;
  readonly gid?: number;
}

export interface HttpSpec {
  /** As WHATWG writes it; no user, no secret, no fragment in it. */
  readonly url: string;
  /** Operator override; `auto`: found out (protocol.md §4.2). */
  readonly transport: 'auto' | 'streamable' | 'sse';
  /** Static credentials, those of the tenant among them; lower-case names. Never the caller's (auth-security UP-1). */
  readonly headers: Readonly<Record<string, string>>;
  /** `http://` is meant. */
  readonly plain: boolean;
  /** Where its host must lie (auth-security NET-3). Empty: public addresses only. */
  readonly cidrs: readonly string[];
  /** PEM; absent: the authorities that Node knows. */
  readonly ca?: string;
  /** At once, to this server, from one node. */
  readonly maxConnections: number;
  /** Its sessions on one node, of all callers; instead of the caps on processes. */
  readonly maxSessions: number;
  readonly connectMs: number;
  /** From the end of a request to the status of its answer; calls have their own time. */
  readonly headersMs: number;
  /** Until the answer to a request for a stream. Streams themselves may be silent. */
  readonly idleStreamMs: number;
  readonly maxHeaderBytes: number;
}

/** Exactly one of `stdio` and `http`. */
export interface ServerSpec {
  readonly name: string;
  readonly tenant: string;
  readonly stdio?: StdioSpec;
  readonly http?: HttpSpec;
  readonly isolation: Isolation;
  /** `exclusive` only: stated by the operator; untainted processes are lent again (design §5). */
  readonly keepsNothing: boolean;
  readonly ask: { readonly roots: Ask; readonly sampling: Ask; readonly elicitation: Ask };
  /** What `roots/list` is answered with when its caller cannot be asked in time (design §5 "Ask"). */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
  readonly pool: PoolSettings;
  /** Operator override of the probe. */
  readonly era: 'auto' | 'legacy' | 'modern';
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** A call of a client that takes tasks becomes one when it runs longer. Absent: the route's. */
  readonly promoteAfterMs?: number;
  /** Hex SHA-256 over the canonical spec; secrets enter as keyed hashes. */
  readonly digest: string;
}

export interface IssuerSettings {
  readonly issuer: string;
  readonly jwks: { readonly file: string } | { readonly uri: string };
  readonly tenants: readonly string[];
  readonly claims: {
    readonly subject: string;
    readonly tenant: string;
    readonly groups: string;
    readonly client: string;
  };
  /** Absent: the called route's own URL (design §7). */
  readonly audience?: string;
  readonly algorithms: readonly string[];
  /** Absent: any client of this issuer. */
  readonly clients?: readonly string[];
  /** What clients should ask this issuer for: named in challenges and in the metadata (RS-3, RS-6). Absent: none. */
  readonly scopes?: readonly string[];
}

export type AuthSettings =
  | { readonly mode: 'open' }
  | { readonly mode: 'jwt'; readonly issuers: readonly IssuerSettings[] };

export interface AllowEntry {
  readonly server: string;
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

export interface PolicyRule {
  readonly name: string;
  readonly tenant: string;
  readonly groups: readonly string[];
  readonly allow: readonly AllowEntry[];
}

export interface RouteSettings {
  /** `/acme/everything/mcp`; no trailing slash. */
  readonly path: string;
  readonly tenant: string;
  readonly servers: readonly string[];
  /** False for `server:`, true for `servers:` even with one entry (GB-127). */
  readonly aggregate: boolean;
  /** Legacy revisions served here; the HTTP+SSE endpoints exist when 2024-11-05 is among them and `sse` is true. */
  readonly revisions: readonly string[];
  readonly sse: boolean;
  /** The tasks extension is served (protocol.md §1.10). */
  readonly tasks: boolean;
  /** 2025-11-25 clients get tasks as their revision has them. */
  readonly legacyTasks: boolean;
  /** Absent: `limits.promoteAfterMs`. */
  readonly promoteAfterMs?: number;
  /** Streams of POSTs end after this time and their clients poll (2025-11-25); 0: they stay open. */
  readonly closeStreamsAfterMs: number;
}

export interface Limits {
  readonly maxBodyBytes: number;
  readonly maxLineBytes: number;
  readonly maxResultBytes: number;
  /** What a server may write, averaged over ten seconds. */
  readonly maxLinesPerSecond: number;
  readonly maxBytesPerSecond: number;
  readonly maxBatch: number;
  readonly maxDepth: number;
  readonly maxPerServer: number;
  readonly maxPerTenant: number;
  readonly maxPerNode: number;
  readonly maxSessionsPerPrincipal: number;
  readonly sessionIdleMs: number;
  readonly sessionMaxMs: number;
  readonly queueMs: number;
  readonly maxQueue: number;
  readonly keepAliveMs: number;
  /** How long a reply may stay undecided between JSON and SSE (protocol.md §2.4). */
  readonly holdMs: number;
  readonly maxInFlightPerPrincipal: number;
  readonly pageSize: number;
  readonly listTtlMs: number;
  /** How long an aggregate waits for a server that is not there yet. */
  readonly aggregateWaitMs: number;
  readonly promoteAfterMs: number;
  readonly taskTtlMs: number;
  readonly drainMs: number;
  /** The same for what waits for a person. */
  readonly drainHumanMs: number;
  /** How much of it a gateway goes on taking new requests, until nothing sends it any. */
  readonly drainLeadMs: number;
  /** How long a person may take for the questions of a call before it is given up (design §4). */
  readonly humanMs: number;
  readonly maxParkedPerPrincipal: number;
  readonly maxParkedPerServer: number;
}

export interface Snapshot {
  /** Changes with every accepted reload. */
  readonly version: string;
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly adminHost: string;
    readonly adminPort: number;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly trustProxy: boolean;
    /** For what changes something on the admin ports; absent: nothing does. */
    readonly adminToken?: string;
  };
  readonly publicBaseUrl: string;
  readonly state: { readonly kind: 'memory' } | { readonly kind: 'redis'; readonly url: string };
  readonly auth: AuthSettings;
  readonly tenants: ReadonlyMap<string, { readonly name: string }>;
  /** Keyed by `serverId(tenant, name)`. */
  readonly servers: ReadonlyMap<string, ServerSpec>;
  readonly policy: readonly PolicyRule[];
  readonly routes: readonly RouteSettings[];
  readonly limits: Limits;
  readonly link: {
    readonly host: string;
    readonly port: number;
    /** What gateways dial; absent: host:port as bound. */
    readonly advertise?: string;
    /** All services share one host: nodes take gateways on sockets in this directory instead of a port. */
    readonly socketDir?: string;
    readonly adminPort: number;
    readonly secret?: string;
  };
  /** Absent: made at start (memory) or shared through the store with a warning (redis). */
  readonly seal?: {
    readonly keys: readonly { readonly kid: string; readonly key: string }[];
    /** Kid of the key that seals; default: the first. All of them open. */
    readonly sealWith?: string;
  };
  readonly log: { readonly level: string };
  /** How pool managers keep processes. `cgroup`: `auto`, `off` or a directory of cgroup v2. */
  readonly children: { readonly cgroup: string };
}

export function serverId(tenant: string, name: string): string {
  return `${tenant}/${name}`;
}

/** Readers hold this, not a snapshot: a reload swaps the whole (design §7). */
export interface ConfigSource {
  current(): Snapshot;
  /** Called after each accepted reload. Returns the way to stop being called. */
  onChange(listener: (next: Snapshot, previous: Snapshot) => void): () => void;
}

/** On how many nodes a server may be called at once: only where nothing is kept in its processes (design §4). */
export function nodesOf({ isolation, pool }: Pick<ServerSpec, 'isolation' | 'pool'>): number {
  return isolation === 'shared' ? (pool.nodes ?? 1) : 1;
}

/** In MB; 0: no cap. An SDK's idle process has 20 to 33 (design §11). */
export function memoryCapsOf(pool: Pick<PoolSettings, 'maxMemoryMb' | 'hardMemoryMb'>): { soft: number; hard: number } {
  const soft = pool.maxMemoryMb ?? 1024;
  return { soft, hard: pool.hardMemoryMb ?? 4 * soft };
}

/** `KeyParts.mayAsk` of a server: both services must say the same, or they look for one caller on two nodes. */
export function mayAsk(spec: Pick<ServerSpec, 'ask' | 'isolation'>): boolean {
  if (spec.isolation === 'shared') return false;
  return spec.ask.roots === 'caller' || spec.ask.sampling === 'caller' || spec.ask.elicitation === 'caller';
}
