// A slow `initialize` answers by a stream whose head names the session before anybody knows whether there will be one
// (GB-074). When it fails after that, the id is answered 404 everywhere and the store keeps nothing (protocol.md §3.3).

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import { eventually } from '../../../../../test/harness/eventually.ts';
import type { InitializeInfo } from '../../../src/lower/legacy/contract.ts';
import { events, greeting, open, post, reader, request, verb } from './client.ts';
import { createWorld, type Kind, LIMITS, type World } from './replicas.ts';

const INFO: InitializeInfo = { kind: 'info', capabilities: {} };

interface Gate {
  /** Lets the server answer. */
  readonly go: (info: InitializeInfo) => void;
  readonly info: Promise<InitializeInfo>;
}

function gateOf(): Gate {
  let go!: (info: InitializeInfo) => void;
  const info = new Promise<InitializeInfo>((done) => {
    go = done;
  });
  return { go, info };
}

let gate = gateOf();
const slow = { initializeInfo: () => gate.info };

/** The stream and the session it names, before the outcome. */
async function begin({ replicas }: World): Promise<{ readonly answer: Response; readonly session: string }> {
  const answer = await post(replicas[0], greeting());
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const session = answer.headers.get('mcp-session-id') ?? '';
  assert.match(session, /^[\x21-\x7e]+$/);
  return { answer, session };
}

async function errorOf(answer: Response): Promise<{ readonly code: number }> {
  const all = await events(answer);
  assert.equal(all.length, 1);
  const { id, error } = JSON.parse(all[0]?.data ?? '') as { id: unknown; error: { code: number } };
  assert.equal(id, 0);
  return error;
}

async function isUnknown(world: World, session: string): Promise<void> {
  for (const replica of world.replicas) {
    const answers = [
      await post(replica, request(1, 'ping'), { session }),
      await verb('GET', replica, { session, accept: 'text/event-stream' }),
      await verb('DELETE', replica, { session }),
    ];
    for (const answer of answers) {
      await answer.text();
      assert.equal(answer.status, 404);
    }
  }
}

const kept = (store: Store): Promise<string[]> => store.scan('lk:{acme}:sess');

for (const kind of ['memory', 'redis'] as const satisfies readonly Kind[]) {
  describe(`an initialize whose stream has begun, over ${kind}`, () => {
    let world: World;
    before(async () => {
      world = await createWorld(kind, slow);
    });
    beforeEach(() => {
      gate = gateOf();
      world.snapshot.value = { ...world.snapshot.value, limits: LIMITS };
    });
    afterEach(async () => {
      for (const key of await kept(world.stores[0]!)) await world.stores[0]!.delete(key);
    });
    after(() => world.close());

    test('a server that cannot be reached leaves an id that is unknown, and nothing behind it', async () => {
      const { answer, session } = await begin(world);
      gate.go({ kind: 'refusal', refusal: { reason: 'unavailable' } });
      await errorOf(answer);
      await isUnknown(world, session);
      assert.deepEqual(await kept(world.stores[0]!), []);
    });

    test('a caller with too many sessions gets an id that is unknown, and keeps what it has', async () => {
      world.snapshot.value = { ...world.snapshot.value, limits: { ...LIMITS, maxSessionsPerPrincipal: 1 } };
      gate.go(INFO);
      const used = await open(world.replicas[0]);
      const stream = reader(await verb('GET', world.replicas[0], { session: used, accept: 'text/event-stream' }));
      await stream.next();
      const before = (await kept(world.stores[0]!)).sort();
      gate = gateOf();
      const { answer, session } = await begin(world);
      gate.go(INFO);
      await errorOf(answer);
      await isUnknown(world, session);
      assert.deepEqual((await kept(world.stores[0]!)).sort(), before);
      assert.equal((await post(world.replicas[1], request(1, 'ping'), { session: used })).status, 200);
      assert.equal((await verb('DELETE', world.replicas[0], { session: used })).status, 204);
      assert.equal(await stream.next(), null);
    });

    test('the client begins anew with the id that came to nothing, and gets another', async () => {
      const { answer, session } = await begin(world);
      gate.go({ kind: 'refusal', refusal: { reason: 'unavailable' } });
      await errorOf(answer);
      gate = gateOf();
      gate.go(INFO);
      const again = await open(world.replicas[1], '2025-11-25', {}, { session });
      assert.notEqual(again, session);
      assert.equal((await post(world.replicas[0], request(1, 'ping'), { session: again })).status, 200);
      assert.ok((await kept(world.stores[0]!)).length > 0);
      await isUnknown(world, session);
    });
  });
}

const LEAVINGS = [
  { when: 'its stream', streams: true, holdMs: 173 },
  { when: 'before there is a head', streams: false, holdMs: 60_173 },
];

describe('an initialize whose session is not written as it should be', () => {
  const memory = createMemoryStore({ clock: systemClock, warn: () => undefined });
  const isRecord = (key: string): boolean => key.startsWith('lk:{acme}:sess:');
  const stopped: number[] = [];
  let set: Store['set'] = memory.set;
  let world: World;
  before(async () => {
    const clock: Clock = {
      ...systemClock,
      setTimer(ms, run) {
        const timer = systemClock.setTimer(ms, run);
        const clear = (): void => {
          stopped.push(ms);
          timer.clear();
        };
        return { ...timer, clear };
      },
    };
    const store: Store = { ...memory, set: (key, value, ttlMs) => set(key, value, ttlMs) };
    world = await createWorld('memory', { ...slow, store, clock });
  });
  beforeEach(() => {
    gate = gateOf();
    stopped.length = 0;
  });
  after(() => world.close());

  test('a write that nobody heard the end of is taken back', async () => {
    set = async (key, value, ttlMs) => {
      await memory.set(key, value, ttlMs);
      if (isRecord(key)) throw new Error('the answer was lost');
    };
    const { answer, session } = await begin(world);
    gate.go(INFO);
    assert.equal((await errorOf(answer)).code, 10010);
    await isUnknown(world, session);
    assert.deepEqual(await kept(memory), []);
  });

  for (const { when, streams, holdMs } of LEAVINGS) {
    test(`a client that leaves ${when} leaves no session`, async () => {
      world.snapshot.value = { ...world.snapshot.value, limits: { ...LIMITS, holdMs } };
      const writing = Promise.withResolvers<void>();
      const written = Promise.withResolvers<void>();
      set = async (key, value, ttlMs) => {
        if (isRecord(key)) {
          writing.resolve();
          await written.promise;
        }
        await memory.set(key, value, ttlMs);
      };
      const leaving = new AbortController();
      const answering = post(world.replicas[0], greeting(), {}, leaving.signal);
      if (streams) await answering;
      gate.go(INFO);
      await writing.promise;
      stopped.length = 0;
      leaving.abort();
      await answering.catch(() => undefined);
      await eventually(() => assert.ok(stopped.includes(holdMs)));
      written.resolve();
      await eventually(async () => assert.deepEqual(await kept(memory), []));
    });
  }
});
