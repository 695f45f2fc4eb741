// Plays one cell: the client does what the feature says, then both wires are looked at until they are right, and once more
// at the end.

import assert from 'node:assert/strict';
import { eventually } from '../harness/eventually.ts';
import type { Era, Feature } from './cell.ts';
import { connect } from './clients.ts';
import type { Upstream } from './upstream.ts';
import type { World } from './world.ts';

export async function play(world: World, feature: Feature, client: Era, server: Upstream): Promise<void> {
  const { down, up } = { down: feature.down[client], up: feature.up[server.era] };
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
