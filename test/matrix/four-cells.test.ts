// Legacy and modern clients with legacy and modern servers: does each thing that MCP has work in all four cells, and is it
// right on both wires (protocol.md §5.1–§5.4)? Published SDKs on both ends; in one process, and spread over several.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { startCluster, startStandalone } from '../harness/lockkeeper.ts';
import { startRedis } from '../harness/redis.ts';
import type { Era, Feature } from './cell.ts';
import { connect } from './clients.ts';
import { ASKING } from './questions.ts';
import { TELLING } from './telling.ts';
import { type Upstream, upstream } from './upstream.ts';

const ERAS: readonly Era[] = ['modern', 'legacy'];
const FEATURES = [...ASKING, ...TELLING];

interface World {
  route(path: string): string;
  /** Sends each request to another gateway. */
  readonly through: typeof fetch;
  stop(): Promise<void>;
}

type Start = (servers: readonly Upstream[]) => Promise<World>;

const standalone: Start = async (servers) => {
  const lockkeeper = await startStandalone({ servers: servers.map(({ wish }) => wish) });
  return { route: lockkeeper.route, through: fetch, stop: lockkeeper.stop };
};

const spread: Start = async (servers) => {
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

async function cell(world: World, feature: Feature, client: Era, server: Upstream): Promise<void> {
  const { down, up } = { down: feature.down[client], up: feature.up[server.wish.name as Era] };
  const peer = await connect(client, world.route(`/acme/${server.wish.name}/mcp`), world.through);
  const entries = server.mark();
  const look = () => {
    const wires = { down: peer.wire, up: entries(), ever: server.ever() };
    down.holds(wires);
    up.holds(wires);
  };
  try {
    await feature.act(peer, entries);
    await eventually(async () => look());
  } finally {
    await peer.close();
  }
  await peer.wire.idle();
  look();
  assert.deepEqual(peer.wire.faults, []);
}

function matrix(name: string, start: Start, features: readonly Feature[]): void {
  describe(name, { concurrency: false }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-matrix-'));
    const servers = new Map(ERAS.map((era) => [era, upstream(era, 'asks', era, folder)]));
    let world: World;
    before(async () => {
      world = await start([...servers.values()]);
    });
    after(async () => {
      await world?.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    for (const client of ERAS) {
      for (const server of ERAS) {
        describe(`${client} client × ${server} server`, () => {
          for (const feature of features) {
            const words = `${feature.down[client].right}; ${feature.up[server].right}`;
            it(`${feature.name}: ${words}`, () => cell(world, feature, client, servers.get(server)!));
          }
        });
      }
    }
  });
}

matrix('in one process', standalone, FEATURES);
matrix(
  'over three gateways, each request at another',
  spread,
  FEATURES.filter(({ everywhere }) => everywhere === true),
);
