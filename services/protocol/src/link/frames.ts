// Every message of the link as one discriminated union (design §4). A message has a JSON head and raw body bytes;
// the codec cuts a long one into frames. Heads are ours; bodies are MCP text that is not parsed on the way.
//
// Bodies are *members*: the inside of a JSON object without its braces ("" for an empty one), with `_meta` (and, in
// results, `resultType`) taken out. `_meta`'s surviving vendor members travel in `head.meta`, also as members. So
// each side composes its own envelope by concatenation and nothing unchanged is re-serialised (design §11).

import type { ClientCapabilities } from '../mcp/capabilities.ts';
import type { LogLevel } from '../mcp/meta.ts';
import type { Era } from '../mcp/revision.ts';

/** The person and the program: what everything that waits is bound to (protocol.md §5.0 I5, design §6). */
export interface Principal {
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
  /** `client_id`; null where the issuer names none (then nothing that waits can be bound, design §7). */
  readonly client: string | null;
}

export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

export interface Hello {
  readonly kind: 'hello';
  readonly version: number;
  readonly role: 'gateway' | 'pool-manager';
  /** Node or replica id. */
  readonly id: string;
  /** Fresh for each life of a node, and after it lost its leases (design §4). */
  readonly incarnation: string;
  readonly lane: 'small' | 'bulk';
  /** Joins the two connections of one pair. */
  readonly pair: string;
  readonly nonce: string;
  /** Absent in the first hello of each side; then HMAC over both nonces, roles and the pair. */
  readonly proof?: string;
}

/** The caller takes a task instead of an answer (protocol.md §1.10), of this call, under this handle. */
export interface TaskOffer {
  /** Minted by the gateway, unguessable: what the caller will know it by. */
  readonly id: string;
  /** A call that runs longer becomes a task; null: only what the server itself makes one. */
  readonly promoteAfterMs: number | null;
  readonly ttlMs: number;
}

/**
 * One request, modern, without session. `stream` is chosen by the gateway, unique on its connection. Body: params
 * members; a retry's answers are among them, raw, under exactly `"inputResponses":` as the last one. An entry of those
 * may be `{"lk/error":{"code":…,"message":"…"}}`: a refusal that a legacy user could say (lk extension).
 */
export interface Open {
  readonly kind: 'open';
  readonly stream: number;
  readonly xid: string;
  /** A modern method, or one of the closed list of `lk/*` extensions. */
  readonly method: string;
  readonly server: string;
  /** Digest of the server spec the gateway resolved; unknown to the node: `stale-config`. */
  readonly digest: string;
  readonly principal: Principal;
  /** Legacy session id (hashed) for `session` isolation; null for modern callers. */
  readonly session: string | null;
  /** What this caller declared on this request, cut by `ask` and policy. */
  readonly capabilities: ClientCapabilities;
  readonly downstreamEra: Era;
  readonly logLevel?: LogLevel;
  /** The caller gave a progress token. */
  readonly progress: boolean;
  /** Time left, ms. Parked human time is not counted (protocol.md §4.7). */
  readonly deadlineMs: number;
  readonly onVanish: 'cancel' | 'keep';
  readonly trace?: TraceContext;
  /** Surviving vendor `_meta` members (no braces). */
  readonly meta?: string;
  /** `Mcp-Param`-relevant and other facts are re-read by the node; only the name is spared it. */
  readonly name?: string;
  /** Set on a retry: the node named in the seal, and its state inside it. */
  readonly incarnation?: string;
  readonly state?: string;
  /** Re-join without answers (design §4 amendment 5). */
  readonly wait?: boolean;
  /** Joiner's position: events up to this `seq` are not sent again. */
  readonly fromSeq?: number;
  readonly task?: TaskOffer;
}

/** Before it, the gateway may try elsewhere; after it, never (design §4). */
export interface Started {
  readonly kind: 'started';
  readonly stream: number;
}

export interface Accepted {
  readonly kind: 'accepted';
  readonly stream: number;
}

/** A notification that concerns the exchange: progress (token left out) or a log message. Body: params members. */
export interface Event {
  readonly kind: 'event';
  readonly stream: number;
  readonly seq: number;
  readonly method: 'notifications/progress' | 'notifications/message' | (string & {});
}

/** lk extension: facts that only a legacy caller's lowering needs; never shown to a modern peer. */
export interface Origin {
  readonly elicitationIds?: Readonly<Record<string, string>>;
  /** Of `input_required`: the round in which each open question was first asked. A key asked anew has a later one. */
  readonly asked?: Readonly<Record<string, number>>;
  readonly wasUrlError?: boolean;
  readonly taskTtl?: number | null;
  /** Of a `task` result: the server's own id of it; absent where the node keeps the task itself. */
  readonly upstreamTask?: string;
}

export interface Result {
  readonly kind: 'result';
  readonly stream: number;
  readonly seq: number;
  readonly resultType: 'complete' | 'input_required' | 'task' | (string & {});
  /** Vendor `_meta` members of the upstream's result. */
  readonly meta?: string;
  /** The node's own state to be sealed, of an `input_required` result. */
  readonly state?: string;
  readonly origin?: Origin;
}

/**
 * Why an exchange did not end in a result. `upstream`: the server's own JSON-RPC error, to be relayed by the error
 * rules of protocol.md §5.1/§5.2 (the node has already turned those into what a modern caller may see, unless
 * `legacyError` still names the original for a legacy caller). Others are Lockkeeper's reasons (design §8).
 */
export type FaultReason =
  | 'upstream'
  | 'stale-config'
  | 'moved'
  | 'draining'
  | 'unavailable'
  | 'busy'
  | 'start-failed'
  /** A server by URL refuses our credentials. */
  | 'denied'
  | 'timeout'
  | 'lost'
  | 'cancelled'
  | 'protocol'
  | 'too-large'
  | 'too-slow'
  | 'capability'
  | 'unknown-exchange'
  | 'refused'
  | 'internal';

export interface Fault {
  readonly kind: 'error';
  readonly stream: number;
  readonly seq: number;
  readonly reason: FaultReason;
  /** JSON-RPC code for a modern caller when `reason` is `upstream` or `capability`. */
  readonly code: number;
  readonly message: string;
  /** Raw JSON text of `error.data`, if any may be shown. */
  readonly data?: string;
  /** The upstream's own code where a legacy caller may still see it (-32002, -32042). */
  readonly legacyCode?: number;
  /** `moved`: the node that holds the key. */
  readonly node?: string;
  readonly retryAfterMs?: number;
  /** True when the request may have run upstream in part (design §2). */
  readonly mayHaveRun: boolean;
}

export interface Cancel {
  readonly kind: 'cancel';
  readonly xid: string;
  readonly principal: Principal;
  readonly session: string | null;
  readonly reason?: string;
}

/** The caller of this one stream left. The exchange may live on, if others wait for it (design §4 amendment 6). */
export interface Close {
  readonly kind: 'close';
  readonly stream: number;
}

/** One per (gateway, upstream, auth context); gateways fan out. Place kept for the subscriptions issue. */
export interface Listen {
  readonly kind: 'listen';
  readonly stream: number;
  readonly server: string;
  readonly digest: string;
  readonly principal: Principal;
  readonly session: string | null;
  readonly capabilities: ClientCapabilities;
  readonly filter: {
    readonly tools: boolean;
    readonly prompts: boolean;
    readonly resources: boolean;
    readonly uris: readonly string[];
    readonly taskIds: readonly string[];
    /** lk extension for `session` leases. */
    readonly log?: LogLevel;
  };
}

/** lk extension, client → server: the caller's roots changed. */
export interface Notify {
  readonly kind: 'notify';
  readonly server: string;
  readonly digest: string;
  readonly principal: Principal;
  readonly session: string | null;
  readonly method: 'notifications/roots/list_changed';
}

/** Bytes the receiver is ready to take in addition. `stream` 0 is the whole connection. */
export interface Credit {
  readonly kind: 'credit';
  readonly stream: number;
  readonly bytes: number;
  /** For the rest of the long message being sent only; void when it has been sent. */
  readonly advance?: boolean;
}

/** The node tells its gateways that it drains, or lives under a new incarnation. */
export interface NodeState {
  readonly kind: 'node';
  readonly incarnation: string;
  readonly draining: boolean;
}

export interface Ping {
  readonly kind: 'ping';
  readonly n: number;
  readonly reply: boolean;
}

/** Frames of one stream: numbered, delivered in order, counted against its credit. */
export type StreamHead = Open | Listen | Close | Started | Accepted | Event | Result | Fault;

/** Frames of the whole connection: as they come. */
export type ControlHead = Hello | Cancel | Notify | Credit | NodeState | Ping;

export type Head = StreamHead | ControlHead;

export interface Message<H extends Head = Head> {
  readonly head: H;
  readonly body: Uint8Array;
}

export const NO_BODY: Uint8Array = new Uint8Array(0);
