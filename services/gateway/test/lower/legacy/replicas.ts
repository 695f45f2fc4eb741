// Two gateway replicas as far as the legacy leg is concerned: real sockets, the real rim's reply and classifier, one
// store between them, and a server of ours in place of the rest of the walk. Identity comes from the `x-user` header
// (tenant/subject/client), since authentication is another room's.

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import { textOf } from '@lockkeeper/protocol/json/scan';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { createRedisStore } from '@lockkeeper/state/redis/store';
import type { Store } from '@lockkeeper/state/store';
import { startRedis } from '../../../../../test/harness/redis.ts';
import { classify, classifyLegacy } from '../../../src/era/classify.ts';
import type { Answer, AnswerFn, Ask, Authenticated, Exchange } from '../../../src/exchange.ts';
import type { HttpOut } from '../../../src/http/contract.ts';
import { renderErrorText, statusOf } from '../../../src/http/refuse.ts';
import { createReply } from '../../../src/http/reply.ts';
import { createWheel } from '../../../src/http/wheel.ts';
import type { InitializeInfo, LegacyDeps } from '../../../src/lower/legacy/contract.ts';
import { createLegacyLeg, type RunningLegacyLeg } from '../../../src/lower/legacy/leg.ts';

export const ALICE = 'acme/alice/app';

export interface Seen {
  readonly exchange: Exchange;
  readonly ask: Ask;
  readonly params: string;
}

/** The rest of the walk, shared by both replicas: records what it is asked. */
export interface Upstream {
  readonly seen: Seen[];
  readonly cancelled: string[];
  readonly audit: { xid: string; method: string; outcome: string; status: number | null; bytesIn?: number }[];
  answer: AnswerFn;
  info: InitializeInfo;
  infoFor: Exchange[];
}

export const text = (s: string): Uint8Array => new TextEncoder().encode(s);

export function result(members: string, meta?: string): Answer {
  return { kind: 'result', resultType: 'complete', members: text(members), ...(meta === undefined ? {} : { meta }) };
}

export function createUpstream(): Upstream {
  return {
    seen: [],
    cancelled: [],
    audit: [],
    answer: async (_exchange, ask) => result(`"content":[{"type":"text","text":${JSON.stringify(ask.name ?? '')}}]`),
    info: {
      kind: 'info',
      capabilities: { tools: { listChanged: true }, logging: {}, completions: {}, resources: { subscribe: true } },
      instructions: 'Mind the gap.',
    },
    infoFor: [],
  };
}

/** A call that ends when it is released, or as cancelled when the client no longer wants it. */
export function held(): { answer: AnswerFn; release: (answer: Answer) => void; started: Promise<void> } {
  let release!: (answer: Answer) => void;
  let begin!: () => void;
  const released = new Promise<Answer>((done) => {
    release = done;
  });
  const started = new Promise<void>((done) => {
    begin = done;
  });
  return {
    release,
    started,
    answer: (exchange) => {
      begin();
      const cancelled = new Promise<Answer>((done) =>
        exchange.signal.addEventListener('abort', () => done({ kind: 'refusal', refusal: { reason: 'cancelled' } })),
      );
      return Promise.race([released, cancelled]);
    },
  };
}

export interface Replica {
  readonly url: string;
  readonly leg: RunningLegacyLeg;
  /** As by kill -9: sockets break, nothing is written or said any more, and its name is soon forgotten. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export interface World {
  readonly replicas: readonly [Replica, Replica];
  readonly upstream: Upstream;
  readonly stores: readonly Store[];
  readonly snapshot: { value: Snapshot };
  close(): Promise<void>;
}

export const LIMITS = {
  maxBodyBytes: 1 << 20,
  maxDepth: 64,
  maxBatch: 5,
  maxSessionsPerPrincipal: 50,
  sessionIdleMs: 60_000,
  sessionMaxMs: 600_000,
  keepAliveMs: 15_000,
  holdMs: 200,
  drainMs: 500,
  drainLeadMs: 0,
  humanMs: 600_000,
  maxParkedPerPrincipal: 100,
  maxParkedPerServer: 1000,
} as Snapshot['limits'];

export const ROUTE: RouteSettings = {
  path: '/acme/everything/mcp',
  tenant: 'acme',
  servers: ['everything'],
  aggregate: false,
  revisions: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2026-07-28'],
  sse: true,
  closeStreamsAfterMs: 0,
  tasks: true,
  legacyTasks: false,
};

function snapshotOf(): Snapshot {
  const second: RouteSettings = { ...ROUTE, path: '/acme/other/mcp', revisions: ['2025-06-18', '2025-03-26'] };
  const foreign: RouteSettings = { ...ROUTE, path: '/umbrella/mcp', tenant: 'umbrella' };
  return {
    version: '1',
    publicBaseUrl: 'http://gateway.example/base/',
    limits: LIMITS,
    routes: [ROUTE, second, foreign],
  } as unknown as Snapshot;
}

export type Kind = 'memory' | 'redis';

export async function createWorld(kind: Kind, replace: Partial<LegacyDeps> = {}): Promise<World> {
  const upstream = createUpstream();
  const snapshot = { value: snapshotOf() };
  const warn = () => undefined;
  const redis = kind === 'redis' ? await startRedis() : null;
  const memory = createMemoryStore({ clock: systemClock, warn });
  const store = () => (redis === null ? memory : createRedisStore({ url: redis.url, clock: systemClock, warn }));
  const stores = redis === null ? [memory] : [store(), store()];
  const replicas: [Replica, Replica] = [
    await startReplica(stores[0]!, upstream, snapshot, replace),
    await startReplica(stores.at(-1)!, upstream, snapshot, replace),
  ];
  return {
    replicas,
    upstream,
    stores,
    snapshot,
    async close() {
      for (const replica of replicas) await replica.close();
      for (const s of stores) await s.close();
      await redis?.stop();
    },
  };
}

async function startReplica(
  store: Store,
  upstream: Upstream,
  snapshot: { value: Snapshot },
  replace: Partial<LegacyDeps>,
): Promise<Replica> {
  const silent = () => undefined;
  const life = { dead: false };
  const leg = createLegacyLeg({
    store: mortal(store, life),
    clock: systemClock,
    random: randomBytes,
    wireSecret: Buffer.from('the same on both replicas'),
    config: { current: () => snapshot.value, onChange: () => silent },
    link: { cancel: (_tenant, _owner, xid) => void upstream.cancelled.push(xid) },
    recorder: {
      begin: (ticket, about) => ({
        trace: about.trace,
        end: ({ outcome, status }) =>
          void upstream.audit.push({ xid: ticket.xid, method: about.method, outcome, status }),
      }),
      turnedAway: ({ xid, outcome, status, bytesIn = 0 }) =>
        void upstream.audit.push({ xid, method: '', outcome, status, bytesIn }),
    },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    serverInfo: { name: 'lockkeeper', version: '1.2.3', title: 'Lockkeeper', websiteUrl: 'https://x.example' },
    answer: async (exchange, ask, listener) => {
      upstream.seen.push({ exchange, ask, params: paramsText(ask) });
      const answer = await upstream.answer(exchange, ask, {
        event: (...args) => void (life.dead || listener.event(...args)),
        accepted: () => listener.accepted?.(),
      });
      return life.dead ? await new Promise<never>(silent) : answer;
    },
    initializeInfo: async (exchange) => {
      upstream.infoFor.push(exchange);
      return upstream.info;
    },
    ...replace,
  });
  await leg.start();
  const wheel = createWheel((ms, run) => {
    const timer = setInterval(run, ms);
    return { clear: () => clearInterval(timer) };
  });
  const rim = {
    wheel,
    keepAliveMs: 15_000,
    headers: {},
    exchange: null,
    draining: () => false,
    onResponse: silent,
    onStream: silent,
  };
  const server = createServer((request, response) => {
    void serve(request, createReply(request, response, rim));
  });
  async function serve(request: IncomingMessage, out: HttpOut): Promise<void> {
    const current = snapshot.value;
    // The ingress strips the path of publicBaseUrl.
    const url = new URL((request.url ?? '/').replace(/^\/base\//, '/'), 'http://x');
    const kind = url.pathname.split('/').at(-1) ?? '';
    const path = kind === 'mcp' ? url.pathname : `${url.pathname.slice(0, -kind.length)}mcp`;
    const route = current.routes.find((r) => r.path === path)!;
    const [tenant = '', subject = '', client = ''] = String(request.headers['x-user'] ?? ALICE).split('/');
    const ticket: Authenticated = {
      xid: randomUUID(),
      snapshot: current,
      route,
      caller: { principal: { tenant, issuer: 'i', subject, client }, groups: [], expiresAt: null },
      trace: {},
      arrivedAt: performance.now(),
    };
    if (kind === 'sse') return await leg.sseOpen(ticket, request.headers, out);
    if (request.method === 'GET') return await leg.get(ticket, request.headers, out);
    if (request.method === 'DELETE') return await leg.delete(ticket, request.headers, out);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const found =
      kind === 'mcp' ? classify(bytes, request.headers, route, current.limits) : classifyLegacy(bytes, current.limits);
    if (found.kind === 'refusal') {
      return out.json(statusOf(found.refusal), renderErrorText(found.refusal, found.idText, ticket.xid));
    }
    if (found.kind === 'modern') return out.json(599, '"modern"');
    if (kind === 'mcp') return await leg.post(ticket, request.headers, found.body, out);
    await leg.ssePost(ticket, url.searchParams.get('sessionId') ?? '', found.body, out);
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leg,
    async kill() {
      life.dead = true;
      server.closeAllConnections();
      for (const key of await store.scan('lk:{}:replica:')) await store.delete(key);
    },
    async close() {
      life.dead = false;
      await leg.close(LIMITS.drainMs);
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      wheel.close();
    },
  };
}

function mortal(store: Store, life: { readonly dead: boolean }): Store {
  return new Proxy(store, {
    get(target, name) {
      const own = target[name as keyof Store] as unknown;
      if (typeof own !== 'function' || name === 'close') return own;
      return (...args: unknown[]) => {
        if (life.dead && name !== 'follow') return Promise.reject(new Error('this replica is dead'));
        return (own as (...a: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

function paramsText(ask: Ask): string {
  return ask.params.map((m) => textOf(ask.bytes, { start: m.keyStart, end: m.end })).join(',');
}
