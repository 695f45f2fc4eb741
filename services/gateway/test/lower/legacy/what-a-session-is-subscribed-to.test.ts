// Two looks at one list: a session subscribes while a hint makes its replica read the store's list again. Which of them
// may take a URI out?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Authenticated } from '../../../src/exchange.ts';
import type { Added, Audience } from '../../../src/listen/audience.ts';
import { createSubscriptions } from '../../../src/lower/legacy/subscriptions.ts';
import { createWatches } from '../../../src/lower/legacy/watch/watches.ts';
import type { Hint } from '../../../src/session/hints.ts';
import type { Session } from '../../../src/session/record.ts';
import { manualClock } from '../../session/manual-clock.ts';

const URI = 'note://a';
const record = { tenant: 'acme', transport: 'streamable', revision: '2025-11-25', route: '/acme/mcp' };
const SESSION = { id: 's', hash: 'h', record } as unknown as Session;
const TICKET = { xid: 'x', caller: { expiresAt: null } } as unknown as Authenticated;

function stage() {
  const clock = manualClock();
  const store = createMemoryStore({ clock, warn: () => undefined });
  const subscriptions = createSubscriptions(store, () => 60_000);
  const uris = new Set<string>();
  const listening = { opened: 0, closed: 0 };
  const told: string[] = [];
  /** What the server says, when it says it. */
  let asked = Promise.withResolvers<void>();
  const audience = {
    get told() {
      return { lists: new Set(['tools', 'prompts']), uris: new Set(uris) };
    },
    async open() {
      listening.opened += 1;
      return { kind: 'honoured', honoured: { lists: new Set(), uris: new Set() } };
    },
    async add(uri: string): Promise<Added> {
      uris.add(uri);
      await asked.promise;
      return uris.has(uri) ? 'told' : 'refused';
    },
    drop: (uri: string) => void uris.delete(uri),
    close: () => {
      listening.closed += 1;
    },
  };
  let hear: (hint: Hint) => void = () => {};
  const watches = createWatches({
    ...{ subscriptions, clock },
    audience: () => audience as unknown as Audience,
    presence: { self: 'me', alive: async (replica) => replica !== 'resting' },
    hints: {
      on(listener) {
        hear = listener;
      },
      send: () => {},
    },
    random: (bytes) => Buffer.alloc(bytes, 1),
    keepMs: () => 20_000,
    tell: async (_session, text) => told.push((JSON.parse(text) as { method: string }).method) > 0,
    failed: (what, error) => assert.fail(`${what}: ${String(error)}`),
  });
  const settle = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  return {
    ...{ watches, subscriptions, uris, settle, store, clock, listening, told },
    async changed() {
      hear({ kind: 'changed', tenant: 'acme', id: 's' });
      await settle();
    },
    answer() {
      asked.resolve();
      asked = Promise.withResolvers<void>();
    },
  };
}

test('a URI that is being subscribed to is not taken for one that was let go elsewhere', async () => {
  const { watches, subscriptions, uris, changed, answer, settle } = stage();
  const subscribed = watches.subscribe(SESSION, TICKET, URI);
  await settle();
  assert.deepEqual([...uris], [URI]);
  await changed();
  answer();
  assert.equal(await subscribed, null);
  assert.deepEqual(await subscriptions.all(SESSION), [URI]);
  await subscriptions.remove(SESSION, URI);
  await changed();
  assert.deepEqual([...uris], [], 'let go elsewhere, it is let go here');
  watches.close();
});

test('what is subscribed to lives as long as somebody listens for its session, and ends by itself after that', async () => {
  const { subscriptions, store, clock } = stage();
  const mark = { replica: 'me', token: 't', stream: false };
  await store.set('lk:{acme}:sess:s', '{}', 3_600_000);
  await subscriptions.watch(SESSION, mark);
  await subscriptions.add(SESSION, URI);
  await subscriptions.hold(SESSION, { kind: 'list', list: 'tools' });
  for (let i = 0; i < 4; i++) {
    await clock.advance(40_000);
    assert.equal(await subscriptions.keepWatch(SESSION, mark), true);
  }
  assert.deepEqual(await subscriptions.all(SESSION), [URI]);
  assert.equal((await subscriptions.takeHeld(SESSION)).length, 1);
  await clock.advance(60_001);
  assert.deepEqual(await store.scan('lk:{acme}:sess:s:'), []);
});

test('a session without a stream is listened for no longer, and hears of everything when one opens', async () => {
  const { watches, clock, settle, store, listening, told } = stage();
  await store.set('lk:{acme}:sess:s', '{}', 3_600_000);
  watches.seen(SESSION, TICKET);
  await settle();
  assert.deepEqual(listening, { opened: 1, closed: 0 });
  await clock.advance(60_000);
  await settle();
  assert.deepEqual(listening, { opened: 1, closed: 1 });
  await clock.advance(31_000);
  watches.seen(SESSION, TICKET);
  await settle();
  assert.deepEqual(listening, { opened: 1, closed: 1 }, 'it is used, and nobody would hear');
  const leave = watches.opened(SESSION, TICKET);
  await settle();
  assert.deepEqual(listening, { opened: 2, closed: 1 });
  assert.deepEqual(told, ['notifications/tools/list_changed', 'notifications/prompts/list_changed']);
  await clock.advance(120_000);
  await settle();
  assert.equal(listening.closed, 1, 'its stream is open');
  leave();
  await clock.advance(60_000);
  await settle();
  assert.equal(listening.closed, 2);
});

test('a session that has subscribed is listened for, stream or not', async () => {
  const { watches, clock, settle, store, listening, answer } = stage();
  await store.set('lk:{acme}:sess:s', '{}', 3_600_000);
  const subscribed = watches.subscribe(SESSION, TICKET, URI);
  await settle();
  answer();
  assert.equal(await subscribed, null);
  await clock.advance(60_000);
  await settle();
  assert.equal(listening.closed, 0);
  await watches.unsubscribe(SESSION, URI);
  await clock.advance(60_000);
  await settle();
  assert.equal(listening.closed, 1);
});
