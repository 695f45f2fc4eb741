// A stage for the answer: a snapshot, callers, asks, and a link whose servers are written down in the test. The store,
// the ring and everything behind `createRoute` are the real ones.

import type { AllowEntry, PolicyRule, RouteSettings, ServerSpec, Snapshot } from '@lockkeeper/protocol/config/settings';
import { findMember, membersOf, scan } from '@lockkeeper/protocol/json/scan';
import type { Fault, Result } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import type { Answer, AnswerListener, Ask, Exchange } from '../../src/exchange.ts';
import type { Link, LinkAnswer, LinkRequest } from '../../src/link/contract.ts';
import { createRoute, type Route } from '../../src/route/answer.ts';
import type { RouteDeps } from '../../src/route/contract.ts';
import { createSealRing } from '../../src/seal/ring.ts';

export const KEY = 'k'.repeat(40);

/** Moves only when told; timers run when their time has come. */
export function manualClock(): Clock & { advance(ms: number): void } {
  let now = 1_800_000_000_000;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    setTimer(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    advance(ms) {
      now += ms;
      for (const timer of [...timers]) {
        if (timer.at > now || !timers.delete(timer)) continue;
        timer.run();
      }
    },
  };
}

export interface FakeServer {
  era?: 'legacy' | 'modern';
  revision?: string;
  capabilities?: Record<string, unknown>;
  instructions?: string;
  /** Raw JSON texts of items. */
  tools?: string[];
  prompts?: string[];
  resources?: string[];
  templates?: string[];
  ttlMs?: number;
  /** Further members of every list, e.g. `"vendorField":true`. */
  extra?: string;
  discoverExtra?: string;
  meta?: string;
  /** Answers everything that is no list; members of the result. */
  call?: (request: LinkRequest) => string | LinkAnswer | Promise<string | LinkAnswer>;
  /** Events of every call: method and params members. */
  events?: [string, string][];
  /** Consulted first, for any method. */
  before?: (request: LinkRequest) => LinkAnswer | undefined | Promise<LinkAnswer | undefined>;
}

export function result(members: string, head: Partial<Result> = {}): LinkAnswer {
  return {
    kind: 'result',
    head: { kind: 'result', stream: 1, seq: 1, resultType: 'complete', ...head },
    body: Buffer.from(members),
  };
}

export function fault(reason: Fault['reason'], more: Partial<Fault> = {}): LinkAnswer {
  const fields = { kind: 'error', stream: 1, seq: 1, code: -32603, message: '', mayHaveRun: false } as const;
  return { kind: 'fault', fault: { ...fields, reason, ...more } };
}

const LIST_MEMBER: Record<string, [keyof FakeServer, string]> = {
  'tools/list': ['tools', 'tools'],
  'prompts/list': ['prompts', 'prompts'],
  'resources/list': ['resources', 'resources'],
  'resources/templates/list': ['templates', 'resourceTemplates'],
};

async function played(server: FakeServer | undefined, request: LinkRequest): Promise<LinkAnswer> {
  if (server === undefined) return fault('unavailable');
  const early = await server.before?.(request);
  if (early !== undefined) return early;
  const hints = `"ttlMs":${server.ttlMs ?? 60_000},"cacheScope":"public"`;
  if (request.method === 'server/discover') {
    const parts = [
      '"supportedVersions":["2026-07-28"]',
      `"capabilities":${JSON.stringify(server.capabilities ?? { tools: {}, prompts: {}, resources: {}, completions: {} })}`,
      `"lk/era":"${server.era ?? 'legacy'}","lk/revision":"${server.revision ?? '2025-11-25'}"`,
      hints,
    ];
    if (server.instructions !== undefined) parts.push(`"instructions":${JSON.stringify(server.instructions)}`);
    if (server.discoverExtra !== undefined) parts.push(server.discoverExtra);
    return result(parts.join(','));
  }
  const list = LIST_MEMBER[request.method];
  if (list !== undefined) {
    const items = (server[list[0]] as string[] | undefined) ?? [];
    const extra = server.extra === undefined ? '' : `,${server.extra}`;
    return result(
      `"${list[1]}":[${items.join(', ')}]${extra},${hints}`,
      server.meta === undefined ? {} : { meta: server.meta },
    );
  }
  const answer = (await server.call?.(request)) ?? '"content":[]';
  return typeof answer === 'string' ? result(answer) : answer;
}

export interface Stage {
  readonly route: Route;
  readonly clock: ReturnType<typeof manualClock>;
  readonly store: Store;
  /** Every request that went over the link, in order. */
  readonly sent: LinkRequest[];
  readonly servers: Record<string, FakeServer>;
  readonly warnings: { fields: Record<string, unknown>; words: string }[];
  snapshot: Snapshot;
  exchange(more?: Partial<Who>): Exchange;
  /** The answer to a request written as JSON params text. */
  ask(method: string, params?: string, more?: Partial<Who> & AskMore): Promise<Answer>;
  sentOf(method: string): LinkRequest[];
}

export interface Who {
  subject: string;
  groups: string[];
  client: string | null;
  tenant: string;
  route: string;
  era: 'legacy' | 'modern';
  session: string | null;
  capabilities: object;
  logLevel: 'debug' | 'info';
  signal: AbortSignal;
  xid: string;
}

export interface AskMore {
  wait?: boolean;
  fromSeq?: number;
  paramHeaders?: Record<string, string>;
  listener?: AnswerListener;
  meta?: string;
}

export interface Scene {
  servers: Record<string, FakeServer>;
  /** Routes besides `/one` (the first server alone) and `/all` (an aggregate of all). */
  policy?: PolicyRule[] | 'open';
  isolation?: ServerSpec['isolation'];
  ask?: ServerSpec['ask'];
  limits?: Partial<Snapshot['limits']>;
  deps?: Partial<RouteDeps>;
  store?: Store;
}

export function specOf(name: string, more: Partial<ServerSpec> = {}): ServerSpec {
  return {
    name,
    tenant: 'acme',
    stdio: { command: 'node', args: [], env: {}, cwd: '.' },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    pool: { max: 8, minWarm: 0, idleMs: 1000, maxAgeMs: 1000, maxUses: 100 },
    era: 'auto',
    startTimeoutMs: 10_000,
    callTimeoutMs: 60_000,
    digest: `digest-of-${name}`,
    ...more,
  };
}

export function allow(server: string, more: Partial<AllowEntry> = {}): AllowEntry {
  return { server, tools: ['*'], prompts: ['*'], resources: ['*'], ...more };
}

export function snapshotOf(scene: Scene, version = '1'): Snapshot {
  const names = Object.keys(scene.servers);
  const specs = names.map((name) =>
    specOf(name, {
      ...(scene.isolation ? { isolation: scene.isolation } : {}),
      ...(scene.ask ? { ask: scene.ask } : {}),
    }),
  );
  const route = (path: string, servers: string[], aggregate: boolean): RouteSettings => {
    const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
    return {
      path,
      tenant: 'acme',
      servers,
      aggregate,
      revisions,
      sse: true,
      closeStreamsAfterMs: 0,
      tasks: true,
      legacyTasks: false,
    };
  };
  const rules = scene.policy ?? 'open';
  return {
    version,
    auth: rules === 'open' ? { mode: 'open' } : { mode: 'jwt', issuers: [] },
    policy: rules === 'open' ? [] : rules,
    tenants: new Map([['acme', { name: 'acme' }]]),
    servers: new Map(specs.map((spec) => [`acme/${spec.name}`, spec])),
    routes: [route('/one', names.slice(0, 1), false), route('/all', names, true)],
    limits: {
      queueMs: 5000,
      pageSize: 1000,
      listTtlMs: 60_000,
      aggregateWaitMs: 10_000,
      humanMs: 600_000,
      maxInFlightPerPrincipal: 100,
      ...scene.limits,
    },
  } as unknown as Snapshot;
}

export function stageOf(scene: Scene): Stage {
  const clock = manualClock();
  const store = scene.store ?? createMemoryStore({ clock, warn: () => {} });
  const sent: LinkRequest[] = [];
  const warnings: Stage['warnings'] = [];
  const link: Pick<Link, 'call'> = {
    async call(request, listener, signal) {
      sent.push(request);
      const events = request.method.endsWith('list') ? [] : (scene.servers[request.server]?.events ?? []);
      for (const [method, members] of events) listener.event(method, Buffer.from(members), 0);
      const gone = new Promise<LinkAnswer>((resolve) => {
        signal.addEventListener('abort', () => resolve(fault('cancelled')), { once: true });
      });
      return Promise.race([played(scene.servers[request.server], request), gone]);
    },
  };
  let xid = 0;
  const stage = {
    clock,
    store,
    sent,
    warnings,
    servers: scene.servers,
    snapshot: snapshotOf(scene),
  } as unknown as Stage & { route: Route };
  const deps: RouteDeps = {
    link,
    store,
    clock,
    config: { current: () => stage.snapshot, onChange: () => () => {} },
    ring: createSealRing({ keys: { keys: [{ kid: 'a', key: KEY }] }, now: clock.now }),
    log: { warn: (fields, words) => void warnings.push({ fields: { ...fields }, words }) },
    newXid: () => `own-${++xid}`,
    ...scene.deps,
  };
  return Object.assign(stage, {
    route: createRoute(deps),
    exchange: (more: Partial<Who> = {}) => exchangeOf(stage.snapshot, more),
    ask(method: string, params = '{}', more: Partial<Who> & AskMore = {}) {
      const listener = more.listener ?? { event: () => {} };
      return stage.route.answer(exchangeOf(stage.snapshot, more), askOf(method, params, more), listener);
    },
    sentOf: (method: string) => sent.filter((request) => request.method === method),
  });
}

export function exchangeOf(snapshot: Snapshot, more: Partial<Who>): Exchange {
  const route = snapshot.routes.find((r) => r.path === (more.route ?? '/one'))!;
  return {
    xid: more.xid ?? 'x1',
    snapshot,
    route,
    caller: {
      principal: {
        tenant: more.tenant ?? 'acme',
        issuer: 'https://idp.example',
        subject: more.subject ?? 'alice',
        client: more.client === undefined ? 'app' : more.client,
      },
      groups: more.groups ?? ['dev'],
      expiresAt: null,
    },
    trace: {},
    arrivedAt: 0,
    era: more.era ?? 'modern',
    revision: more.era === 'legacy' ? '2025-11-25' : '2026-07-28',
    session: more.session ?? null,
    capabilities: more.capabilities ?? {},
    ...(more.logLevel === undefined ? {} : { logLevel: more.logLevel }),
    signal: more.signal ?? new AbortController().signal,
    onVanish: more.era === 'legacy' ? 'keep' : 'cancel',
  };
}

export function askOf(method: string, params: string, more: AskMore & Partial<Who> = {}): Ask {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`);
  const member = findMember(scan(bytes).members, 'params')!;
  const members = membersOf(bytes, member);
  const key = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }[method];
  const name = key === undefined ? undefined : (JSON.parse(params) as Record<string, unknown>)[key];
  const headers = more.era === 'legacy' ? undefined : new Map(Object.entries(more.paramHeaders ?? {}));
  return {
    method,
    bytes,
    params: members,
    progress: false,
    ...(more.meta === undefined ? {} : { meta: more.meta }),
    ...(more.wait === undefined ? {} : { wait: more.wait }),
    ...(more.fromSeq === undefined ? {} : { fromSeq: more.fromSeq }),
    ...(typeof name === 'string' ? { name } : {}),
    ...(headers === undefined ? {} : { paramHeaders: headers }),
  };
}

/** The result's text as an object's text; fails on a refusal. */
export function textOf(answer: Answer): string {
  if (answer.kind === 'refusal') throw new Error(`refused: ${JSON.stringify(answer.refusal)}`);
  return `{${Buffer.from(answer.members).toString()}}`;
}

export function bodyOf(request: LinkRequest | undefined): string {
  return `{${Buffer.from(request!.body).toString()}}`;
}

// biome-ignore lint/suspicious/noExplicitAny: results are read by their wire names
export function read(answer: Answer): any {
  return JSON.parse(textOf(answer));
}

export function metaOf(answer: Answer): Record<string, unknown> {
  if (answer.kind === 'refusal') throw new Error(`refused: ${JSON.stringify(answer.refusal)}`);
  return JSON.parse(`{${answer.meta ?? ''}}`) as Record<string, unknown>;
}

export function refusalOf(answer: Answer) {
  if (answer.kind !== 'refusal') throw new Error(`not refused: ${textOf(answer)}`);
  return answer.refusal;
}

export function names(answer: Answer, list = 'tools', key = 'name'): string[] {
  return (read(answer)[list] as Record<string, string>[]).map((item) => item[key]!);
}
