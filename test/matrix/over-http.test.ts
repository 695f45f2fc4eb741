// The four cells again with servers over HTTP: published SDK v1 and v2, with and without sessions, JSON and SSE replies, and
// HTTP+SSE. The same features, the same clients; beside both wires, every HTTP request is held against its revision.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { callOf, type Era, type Feature, type Side, toServer } from './cell.ts';
import { requestFaults, sessionFaults } from './http-rules.ts';
import { HTTP_KINDS, type HttpKind, type HttpUpstream, httpUpstream } from './http-upstream.ts';
import { play } from './play.ts';
import { ASKING } from './questions.ts';
import { TELLING } from './telling.ts';
import { type Start, spread, standalone, type World } from './world.ts';

const ERAS: readonly Era[] = ['modern', 'legacy'];

/** Over HTTP it is the end of the response that cancels (protocol.md §4.3). */
const CLOSED: Side = {
  right: 'the server’s response is closed and nothing is said of it',
  holds: ({ up }) => {
    assert.equal(callOf(up).length, 1);
    assert.equal(toServer(up, 'notifications/cancelled').length, 0);
  },
};

const FEATURES: readonly Feature[] = [...ASKING, ...TELLING].map((feature) =>
  feature.name === 'cancel' ? { ...feature, up: { ...feature.up, modern: CLOSED } } : feature,
);

function stage(start: Start, kinds: readonly HttpKind[]) {
  const servers = new Map<string, HttpUpstream>();
  let folder = '';
  let world: World | undefined;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lockkeeper-matrix-http-'));
    for (const kind of kinds) servers.set(kind.name, await httpUpstream(kind, folder));
    world = await start([...servers.values()]);
  });
  after(async () => {
    await world?.stop();
    for (const server of servers.values()) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { at: (kind: HttpKind) => servers.get(kind.name)!, world: () => world! };
}

function cells(kind: HttpKind, features: readonly Feature[], at: ReturnType<typeof stage>): void {
  for (const client of ERAS) {
    for (const feature of features) {
      const words = `${feature.down[client].right}; ${feature.up[kind.era].right}`;
      it(`${feature.name}, ${client} client: ${words}`, () => play(at.world(), feature, client, at.at(kind)));
    }
  }
}

describe('in one process', { concurrency: false }, () => {
  const at = stage(standalone, HTTP_KINDS);
  for (const kind of HTTP_KINDS) {
    describe(kind.says, () => {
      const features = FEATURES.filter(({ name }) => kind.can.includes(name));
      cells(kind, features, at);

      it('every request is one of its revision, and carries nothing of the client’s hop', () => {
        const requests = at.at(kind).requests();
        assert.ok(requests.length > features.length);
        assert.deepEqual(requestFaults(kind.era, kind.args.includes('sse'), requests), []);
        if (kind.era === 'legacy' && kind.args.includes('stateful')) assert.deepEqual(sessionFaults(requests), []);
      });
    });
  }
});

describe('over three gateways, each request at another', { concurrency: false }, () => {
  const kinds = HTTP_KINDS.filter(({ name }) => name === 'v1-stateful' || name === 'v2-modern');
  const at = stage(spread, kinds);
  for (const kind of kinds) {
    describe(kind.says, () => {
      const few = ['form', 'progress', 'updated'];
      cells(
        kind,
        FEATURES.filter(({ name }) => few.includes(name)),
        at,
      );
    });
  }
});

it('sessions are ended when Lockkeeper ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-matrix-http-'));
  const kind = HTTP_KINDS.find(({ name }) => name === 'v1-stateful')!;
  const server = await httpUpstream(kind, folder);
  try {
    const world = await standalone([server]);
    const [feature] = FEATURES.filter(({ name }) => name === 'completion');
    await play(world, feature!, 'modern', server);
    await world.stop();
    await eventually(() => server.requests().some(({ http }) => http?.verb === 'DELETE'));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
