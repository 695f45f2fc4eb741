// Where the cells of the matrix are played: one process, or three gateways and two pool managers with Redis, where each
// request goes to another gateway.

import { startCluster, startStandalone } from '../harness/lockkeeper.ts';
import { startRedis } from '../harness/redis.ts';
import type { Upstream } from './upstream.ts';

export interface World {
  route(path: string): string;
  /** Sends each request to another gateway. */
  readonly through: typeof fetch;
  stop(): Promise<void>;
}

export type Start = (servers: readonly Upstream[]) => Promise<World>;

export const standalone: Start = async (servers) => {
  const lockkeeper = await startStandalone({ servers: servers.map(({ wish }) => wish) });
  return { route: lockkeeper.route, through: fetch, stop: lockkeeper.stop };
};

export const spread: Start = async (servers) => {
  const redis = await startRedis();
  const wish = { gateways: 3, poolManagers: 2, redis: redis.url, servers: servers.map(({ wish }) => wish) };
  const cluster = await startCluster(wish).catch(async (error: unknown) => {
    await redis.stop();
    throw error;
  });
  let turn = 0;
  return {
    route: cluster.gateways[0]!.route,
    through: (input, init) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : String(input));
      return fetch(`${cluster.gateways[turn++ % 3]!.url}${pathname}${search}`, init);
    },
    stop: async () => {
      await cluster.stop();
      await redis.stop();
    },
  };
};
