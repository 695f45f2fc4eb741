// Legacy and modern clients with legacy and modern servers: does each thing that MCP has work in all four cells, and is it
// right on both wires (protocol.md §5.1–§5.4)? Published SDKs on both ends; in one process, and spread over several.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Era, Feature } from './cell.ts';
import { play } from './play.ts';
import { ASKING } from './questions.ts';
import { TELLING } from './telling.ts';
import { upstream } from './upstream.ts';
import { type Start, spread, standalone, type World } from './world.ts';

const ERAS: readonly Era[] = ['modern', 'legacy'];
const FEATURES = [...ASKING, ...TELLING];

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
            it(`${feature.name}: ${words}`, () => play(world, feature, client, servers.get(server)!));
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
