// A stage on which a server asks: two gateways, a pool manager, Redis, tokens and policy, and servers that stamp when
// they asked and when they were answered. Times are in milliseconds of the machine's one monotonic clock.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createIssuer } from '../harness/issuer.ts';
import { type Cluster, startCluster, warm } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { startRedis } from '../harness/redis.ts';
import { INSPECTED } from './memory.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const NODE_OPTIONS = JSON.parse(readFileSync(here('../../ops/node-options.json'), 'utf8')) as readonly string[];
const CAPABILITIES = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const ENOUGH = 100_000;

export interface Parked {
  readonly key: string;
  readonly state: string;
  /** From the server's writing of the question to its arrival here. */
  readonly shownMs: number;
}

export interface Stage {
  readonly cluster: Cluster;
  token(route: 'asks' | 'tells', who: string): string;
  ask(who: string): Promise<Parked>;
  /** From the sending of the retry to its answer's arrival at the server. */
  answer(who: string, parked: Parked, gateway: number): Promise<number>;
  /** There: from the sending of a call to its arrival at the server; back: from there to its answer's arrival here. */
  plain(who: string, gateway: number): Promise<{ readonly there: number; readonly back: number }>;
  stop(): Promise<void>;
}

interface Result {
  readonly resultType?: string;
  readonly requestState?: string;
  readonly inputRequests?: Readonly<Record<string, { readonly params: { readonly message: string } }>>;
  readonly content?: readonly { readonly text: string }[];
}

const now = () => Number(process.hrtime.bigint()) / 1e6;

function stampIn(words: string | undefined, name: string): number {
  const digits = new RegExp(`${name}=(\\d+)`).exec(words ?? '')?.[1];
  if (digits === undefined) throw new Error(`no ${name} in ${words}`);
  return Number(BigInt(digits)) / 1e6;
}

async function start(redis: string, issuer: ReturnType<typeof createIssuer>): Promise<Cluster> {
  const pool = { max: 1, minWarm: 0, idleMs: 600_000 };
  const names = ['asks', 'tells'];
  return startCluster({
    gateways: 2,
    poolManagers: 1,
    redis,
    servers: [
      { name: 'asks', args: [here('../servers/stamps-questions.mjs')], isolation: 'user', more: { pool } },
      { name: 'tells', args: [here('../servers/tells-changes.mjs')], isolation: 'shared', more: { pool } },
    ],
    nodeArgs: [...NODE_OPTIONS, INSPECTED],
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: names.map((server) => ({ server, tools: ['*'], prompts: ['*'], resources: ['*'] })),
      },
    ],
    limits: {
      maxParkedPerPrincipal: ENOUGH,
      maxParkedPerServer: ENOUGH,
      maxInFlightPerPrincipal: ENOUGH,
      // What is parked at the end is given up at once.
      drainMs: 500,
    },
  });
}

export async function openStage(): Promise<Stage> {
  const redis = await startRedis();
  const issuer = createIssuer();
  const close = async () => {
    issuer.close();
    await redis.stop();
  };
  try {
    const cluster = await start(redis.url, issuer);
    const stage = stageOf(cluster, issuer, async () => {
      try {
        await cluster.stop();
      } finally {
        await close();
      }
    });
    await warm(() => Promise.all([stage.plain('warm', 0), stage.plain('warm', 1)]));
    return stage;
  } catch (error) {
    await close();
    throw error;
  }
}

function stageOf(cluster: Cluster, issuer: ReturnType<typeof createIssuer>, stop: () => Promise<void>): Stage {
  const tokens = new Map<string, string>();
  const token: Stage['token'] = (route, who) => {
    const audience = cluster.gateways[0]!.route(`/acme/${route}/mcp`);
    const made = tokens.get(`${route} ${who}`) ?? issuer.token({ audience, sub: who, ttlSeconds: 3_600 });
    tokens.set(`${route} ${who}`, made);
    return made;
  };
  const call = async (who: string, gateway: number, params: Record<string, unknown>) => {
    const wish = { method: 'tools/call', params, meta: CAPABILITIES, token: token('asks', who) };
    const url = cluster.gateways[gateway]!.route('/acme/asks/mcp');
    const sent = now();
    const { message } = await callModern(url, wish);
    const got = now();
    const result = message?.result as Result | undefined;
    if (result === undefined) throw new Error(`${params.name}: ${JSON.stringify(message)}`);
    return { sent, got, result, words: result.content?.[0]?.text };
  };
  return {
    cluster,
    token,
    stop,
    async ask(who) {
      const { got, result } = await call(who, 0, { name: 'ask', arguments: {} });
      const [key, request] = Object.entries(result.inputRequests ?? {})[0] ?? [];
      if (!key || result.requestState === undefined) throw new Error(`no question: ${JSON.stringify(result)}`);
      return { key, state: result.requestState, shownMs: got - stampIn(request?.params.message, 'asked') };
    },
    async answer(who, { key, state }, gateway) {
      const inputResponses = { [key]: { action: 'accept', content: { code: '42' } } };
      const params = { name: 'ask', arguments: {}, inputResponses, requestState: state };
      const { sent, words } = await call(who, gateway, params);
      return stampIn(words, 'got') - sent;
    },
    async plain(who, gateway) {
      const { sent, got, words } = await call(who, gateway, { name: 'plain', arguments: {} });
      const stamp = stampIn(words, 'got');
      return { there: stamp - sent, back: got - stamp };
    },
  };
}
