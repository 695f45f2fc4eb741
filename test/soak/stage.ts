// Two gateways, two pool managers, a Redis of their own and twenty servers, with room for sixty processes in all: so few
// that reaping and eviction never rest. Everything that they make carries a mark, so that what is left of it is found.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIssuer } from '../harness/issuer.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import type { Running } from '../harness/process.ts';
import { startEmptyRedis } from '../harness/redis.ts';
import { AUDIENCE, createPeople, type Person } from './people.ts';
import { type SoakServer, soakServers } from './servers.ts';

export interface Service {
  readonly name: string;
  readonly pid: number;
  readonly admin: string;
  readonly running: Running;
}

export interface Stage {
  readonly redis: string;
  readonly servers: readonly SoakServer[];
  readonly people: readonly Person[];
  /** As they are now: one that was restarted is another. */
  readonly gateways: readonly Service[];
  readonly nodes: readonly Service[];
  readonly restart: Cluster['restart'];
  /** Where services and children make their temporary files. */
  readonly tmp: string;
  /** In the environment of every process that was started here. */
  readonly mark: string;
  url(gateway: number, server: SoakServer): string;
  /** What the services wrote. */
  logs(): string;
  /** Ends the services; Redis stays, to be looked at. */
  stopServices(): Promise<void>;
  stop(): Promise<void>;
}

export const PROCESSES_PER_NODE = 30;
export const MARK = 'LOCKKEEPER_SOAK';

/**
 * Small, so that V8 collects often and what is left can be told from garbage within two minutes; and who keeps more than
 * that dies of it.
 */
const NODE_OPTIONS = ['--max-semi-space-size=4', '--max-old-space-size=128'];

/** Short times, so that within two minutes everything that can expire does. */
const LIMITS = {
  maxPerNode: PROCESSES_PER_NODE,
  maxPerTenant: 18,
  maxPerServer: 8,
  queueMs: 8_000,
  sessionIdleMs: 6_000,
  humanMs: 6_000,
  listTtlMs: 3_000,
  maxLineBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
};

export interface StageWish {
  readonly nodeArgs?: readonly string[];
  readonly limits?: Readonly<Record<string, number>>;
  /** Default: all. */
  readonly servers?: readonly string[];
}

export async function startStage({
  nodeArgs = NODE_OPTIONS,
  limits = {},
  servers: only,
}: StageWish = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-soak-'));
  const tmp = mkdtempSync(join(folder, 'tmp-'));
  const redis = await startEmptyRedis();
  const issuer = createIssuer();
  const { servers, wishes } = soakServers(folder, only);
  const tenants = [...new Set(servers.map(({ tenant }) => tenant))];
  const everything = { tools: ['*'], prompts: ['*'], resources: ['*'] };
  const end = async (cluster: Cluster | null): Promise<void> => {
    try {
      await cluster?.stop();
    } finally {
      issuer.close();
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  };
  const asserts = { issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants, claims: { tenant: 'tenant' } };
  const started = startCluster({
    gateways: 2,
    poolManagers: 2,
    redis: redis.url,
    tenants,
    servers: wishes.map((wish) => ({ ...wish, env: { ...wish.env, [MARK]: folder } })),
    routes: servers.map(({ tenant, name }) => ({ path: `/${tenant}/${name}/mcp`, tenant, server: name })),
    auth: { mode: 'jwt', issuers: [{ ...asserts, audience: AUDIENCE }] },
    policy: tenants.map((tenant) => ({
      ...{ tenant, groups: ['dev'] },
      allow: servers.filter((one) => one.tenant === tenant).map(({ name }) => ({ server: name, ...everything })),
    })),
    limits: { ...LIMITS, ...limits },
    env: { TMPDIR: tmp },
    nodeArgs,
  });
  const cluster = await started.catch(async (error: unknown) => {
    await end(null);
    throw error;
  });
  const gateways = () => cluster.gateways.map((one) => one.process);
  const named = (name: string) => (running: Running, index: number) => ({
    ...{ running, name: `${name} ${index + 1}`, pid: running.pid },
    admin: String(running.ready.admin).replace(/\/$/, ''),
  });
  return {
    ...{ servers, tmp, redis: redis.url, mark: folder, people: createPeople(issuer) },
    get gateways() {
      return gateways().map(named('gateway'));
    },
    get nodes() {
      return cluster.poolManagers.map(named('pool manager'));
    },
    restart: cluster.restart,
    url: (gateway, { tenant, name }) => cluster.gateways[gateway]!.route(`/${tenant}/${name}/mcp`),
    logs: () => [...gateways(), ...cluster.poolManagers].map((one) => one.logs()).join('\n'),
    stopServices: () => cluster.stop(),
    stop: () => end(cluster),
  };
}
