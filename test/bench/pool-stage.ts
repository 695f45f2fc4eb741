// What the pool's bench runs against: one gateway, one pool manager, a Redis of their own, tokens and policy on; a shared
// server, one with a process for each person that keeps it, and one whose idle processes are gone after a second.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createIssuer } from '../harness/issuer.ts';
import { type Cluster, type ServerWish, startCluster, warm } from '../harness/lockkeeper.ts';
import { callLegacy, callModern, openLegacySession } from '../harness/messages.ts';
import { startEmptyRedis } from '../harness/redis.ts';
import { INSPECTED } from './memory.ts';
import type { LoadWish } from './wishes.ts';

export type ServerName = 'shared' | 'kept' | 'reaped';

export interface PoolStage {
  readonly cluster: Cluster;
  /** What a bare process of the `kept` and `reaped` servers is. */
  readonly program: string;
  request(server: ServerName): Pick<LoadWish, 'url' | 'headers' | 'meta' | 'tool'>;
  call(server: ServerName, who: string): Promise<void>;
  /** A session is opened, one call is made in it, and it stays. */
  session(server: ServerName, who: string): Promise<void>;
  /** Processes that live on the node. */
  processes(): Promise<number>;
  redisBytes(): Promise<number>;
  stop(): Promise<void>;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const NODE_OPTIONS = JSON.parse(readFileSync(here('../../ops/node-options.json'), 'utf8')) as readonly string[];
const AUDIENCE = 'https://bench.example';
const PARAMS = { name: 'echo', arguments: { text: 'x' } };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};

function serversFor(program: string): ServerWish[] {
  const one = (name: ServerName, isolation: 'shared' | 'user', idleMs: number): ServerWish => {
    const args = [name === 'shared' ? here('./echo-child.ts') : program];
    return { name, args, isolation, more: { pool: { max: 1, minWarm: 0, idleMs } } };
  };
  return [one('shared', 'shared', 600_000), one('kept', 'user', 600_000), one('reaped', 'user', 1_000)];
}

export async function openPoolStage(): Promise<PoolStage> {
  const program = here('../servers/echo-legacy.mjs');
  const redis = await startEmptyRedis();
  const issuer = createIssuer();
  const servers = serversFor(program);
  const allow = servers.map(({ name }) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  const asserts = { issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'], audience: AUDIENCE };
  const cluster = await startCluster({
    gateways: 1,
    poolManagers: 1,
    redis: redis.url,
    servers,
    nodeArgs: [...NODE_OPTIONS, INSPECTED],
    auth: { mode: 'jwt', issuers: [asserts] },
    policy: [{ tenant: 'acme', groups: ['dev'], allow }],
    limits: { maxPerServer: 32, maxPerTenant: 64, maxInFlightPerPrincipal: 2_048, listTtlMs: 1_000, queueMs: 60_000 },
  });
  const tokenOf = (who: string) => issuer.token({ sub: who, audience: AUDIENCE, ttlSeconds: 3_600 });
  const urlOf = (server: ServerName) => cluster.gateways[0]!.route(`/acme/${server}/mcp`);
  const stage: PoolStage = {
    ...{ cluster, program },
    request: (server) => ({
      ...{ url: urlOf(server), tool: 'echo', meta: META },
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${tokenOf('load')}`,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'echo',
      },
    }),
    async call(server, who) {
      const { message } = await callModern(urlOf(server), {
        method: 'tools/call',
        params: PARAMS,
        token: tokenOf(who),
      });
      if (message?.result === undefined) throw new Error(JSON.stringify(message));
    },
    async session(server, who) {
      const token = tokenOf(who);
      const { session } = await openLegacySession(urlOf(server), { token });
      const how = { token, session: session!, revision: '2025-11-25' };
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: PARAMS };
      const { message } = await callLegacy(urlOf(server), { ...how, message: call });
      if (message?.result === undefined) throw new Error(JSON.stringify(message));
    },
    async processes() {
      const { admin } = cluster.poolManagers[0]!.ready;
      const { processes } = (await (await fetch(`${admin}/pools`)).json()) as { processes: { server: string }[] };
      return processes.filter(({ server }) => server === 'reaped').length;
    },
    async redisBytes() {
      const client = new Redis(redis.url);
      try {
        return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
      } finally {
        client.disconnect();
      }
    },
    stop: async () => {
      try {
        await cluster.stop();
      } finally {
        issuer.close();
        await redis.stop();
      }
    },
  };
  for (const server of ['shared', 'kept', 'reaped'] as const) await warm(() => stage.call(server, 'load'));
  return stage;
}
