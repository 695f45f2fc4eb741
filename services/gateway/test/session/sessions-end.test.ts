// When does a session end by itself, what keeps it, and what is said while the store is silent? (protocol.md §3.3,
// RS-23, GB-139, GB-142)

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import type { Authenticated } from '../../src/exchange.ts';
import { createAttachments } from '../../src/session/attachments.ts';
import { createBelongings } from '../../src/session/belongings.ts';
import { createHints } from '../../src/session/hints.ts';
import { holderKey, indexKey, inFlightKey, recordKey, streamHolderKey, streamLogKey } from '../../src/session/keys.ts';
import type { Session } from '../../src/session/record.ts';
import { createSessions, type Opening } from '../../src/session/sessions.ts';
import { manualClock } from './manual-clock.ts';

const IDLE = 60_000;
const MAX = 300_000;
const CAP = 3;

const opening: Opening = { transport: 'streamable', revision: '2025-11-25', capabilities: {}, clientInfo: null };

function ticketOf(subject = 'alice', client: string | null = 'app'): Authenticated {
  const principal = { tenant: 'acme', issuer: 'i', subject, client };
  const route = { path: '/acme/mcp', tenant: 'acme' };
  return { caller: { principal, groups: [], expiresAt: null }, route } as unknown as Authenticated;
}

function setUp(wrap: (store: Store) => Store = (s) => s, sessionIdleMs = IDLE) {
  const clock = manualClock();
  const store = createMemoryStore({ clock, warn: () => undefined });
  const faults: string[] = [];
  const failed = (what: string) => void faults.push(what);
  const limits = { sessionIdleMs, sessionMaxMs: MAX, maxSessionsPerPrincipal: CAP };
  const config: ConfigSource = { current: () => ({ limits }) as unknown as Snapshot, onChange: () => () => undefined };
  const replica = () => {
    const hints = createHints(wrap(store), () => undefined);
    const sessions = createSessions({ store: wrap(store), config, clock, random: randomBytes, hints, failed });
    const attachments = createAttachments({ sessions, hints, clock, failed });
    return { hints, sessions, attachments };
  };
  return { clock, store, faults, replica };
}

async function opened(replica: ReturnType<ReturnType<typeof setUp>['replica']>, ticket = ticketOf()): Promise<Session> {
  const result = await replica.sessions.open(ticket, replica.sessions.mint(), opening);
  assert.equal(result.kind, 'found');
  return result.kind === 'found' ? result.session : assert.fail();
}

test('an unused session ends after the idle time', async () => {
  const { clock, replica } = setUp();
  const a = replica();
  const [left, used] = [await opened(a), await opened(a)];
  await clock.advance(IDLE - 1);
  assert.equal((await a.sessions.find(ticketOf(), used.id)).kind, 'found');
  await clock.advance(2);
  assert.equal((await a.sessions.find(ticketOf(), left.id)).kind, 'unknown');
  assert.equal((await replica().sessions.find(ticketOf(), used.id)).kind, 'found');
});

test('use puts the end off, but never beyond the absolute limit', async () => {
  const { clock, replica } = setUp();
  const a = replica();
  const { id } = await opened(a);
  const kinds: string[] = [];
  for (let age = 0; age <= MAX + 40_000; age += 40_000) {
    kinds.push((await a.sessions.find(ticketOf(), id)).kind);
    await clock.advance(40_000);
  }
  // 0 to 280 s are within the 300 s, 320 s and later are not.
  assert.deepEqual(kinds, [...Array<string>(8).fill('found'), 'unknown']);
});

test('a warm session costs the store one read a second, and a renewal every half minute', async () => {
  let reads = 0;
  let writes = 0;
  const { clock, replica } = setUp((store) => ({
    ...store,
    get: (key) => {
      reads++;
      return store.get(key);
    },
    compareAndSet: (...args) => {
      writes++;
      return store.compareAndSet(...args);
    },
  }));
  const a = replica();
  const { id } = await opened(a);
  reads = 0;
  for (let i = 0; i < 100; i++) {
    await a.sessions.find(ticketOf(), id);
    await clock.advance(5);
  }
  assert.equal(reads, 0);
  await clock.advance(1000);
  await Promise.all(Array.from({ length: 20 }, () => a.sessions.find(ticketOf(), id)));
  assert.deepEqual([reads, writes], [1, 0]);
  await clock.advance(30_000);
  for (let i = 0; i < 10; i++) await a.sessions.find(ticketOf(), id);
  assert.equal(writes, 1);
});

test('an end on one replica is known on the other by hint, and within a second without one', async () => {
  const { clock, replica } = setUp();
  const [a, b, deaf] = [replica(), replica(), replica()];
  await b.hints.start();
  const session = await opened(a);
  for (const r of [b, deaf]) assert.equal((await r.sessions.find(ticketOf(), session.id)).kind, 'found');
  await a.sessions.end(session);
  await clock.advance(0);
  assert.equal((await b.sessions.find(ticketOf(), session.id)).kind, 'unknown');
  await clock.advance(1000);
  assert.equal((await deaf.sessions.find(ticketOf(), session.id)).kind, 'unknown');
  await b.hints.close();
});

test('what is attached keeps the session, and is told once when it ends', async () => {
  const { clock, replica } = setUp();
  const [a, b] = [replica(), replica()];
  a.attachments.start();
  const session = await opened(a);
  let told = 0;
  a.attachments.attach(session, () => told++);
  await clock.advance(IDLE * 2);
  assert.equal((await b.sessions.find(ticketOf(), session.id)).kind, 'found');
  await b.sessions.end(session);
  await clock.advance(30_000);
  assert.equal(told, 1);
  await clock.advance(30_000);
  assert.equal(told, 1);
  a.attachments.close();
});

test('however short the idle time, what is used now and then, and what is attached, never ends as unused', async () => {
  const short = 4_000;
  const { clock, replica } = setUp(undefined, short);
  const a = replica();
  a.attachments.start();
  const [used, attached, left] = [await opened(a), await opened(a), await opened(a)];
  a.attachments.attach(attached, () => assert.fail('it was told of an end'));
  for (let i = 0; i < 10; i++) {
    await clock.advance(short / 2);
    assert.equal((await a.sessions.find(ticketOf(), used.id)).kind, 'found');
  }
  const kinds = [attached, left].map(async ({ id }) => (await replica().sessions.find(ticketOf(), id)).kind);
  assert.deepEqual(await Promise.all(kinds), ['found', 'unknown']);
  a.attachments.close();
});

test('its end takes everything away, also what is over and was kept for a moment only', async () => {
  const { store, replica } = setUp();
  const a = replica();
  const belongings = createBelongings(store, () => IDLE);
  const session = await opened(a);
  const keys = ['1', '2'].map((stream) => streamLogKey('acme', session.id, stream));
  for (const key of keys) await belongings.set(session, key, 'said');
  await belongings.fade(session, [keys[0]!]);
  assert.deepEqual((await store.getMany(keys)).length, 2);
  await a.sessions.end(session);
  assert.deepEqual(await store.scan(`lk:{acme}:sess:${session.id}`), []);
});

test('at the cap a session in use makes no room: one whose call runs, one whose stream is open', async () => {
  const { clock, store, replica } = setUp();
  const a = replica();
  const [calling, streaming, idle] = [await opened(a), await opened(a), await opened(a)];
  await clock.advance(1000);
  await store.addToSet(inFlightKey('acme', calling.id), '["1","x"]', 10, IDLE);
  const holder = streamHolderKey('acme', streaming.id, 'get-1');
  await store.addToSet(indexKey('acme', streaming.id), holder, 10, IDLE);
  await store.set(holder, 'token', IDLE);
  const fourth = await opened(a);
  const kinds = async () =>
    Promise.all([calling, streaming, idle].map(async ({ id }) => (await replica().sessions.find(ticketOf(), id)).kind));
  assert.deepEqual(await kinds(), ['found', 'found', 'unknown']);
  await store.set(holderKey('acme', fourth.id), 'token', IDLE);
  assert.equal((await a.sessions.open(ticketOf(), a.sessions.mint(), opening)).kind, 'full');
  // Its socket's replica is gone: nothing renews what it held.
  await store.delete(holder);
  await opened(a);
  assert.deepEqual(await kinds(), ['found', 'unknown', 'unknown']);
});

test('GB-139: at the cap the session seen longest ago makes room, for its own principal only', async () => {
  const { clock, replica } = setUp();
  const a = replica();
  const others = await opened(a, ticketOf('bob'));
  const mine: string[] = [];
  for (let i = 0; i < CAP; i++) {
    mine.push((await opened(a)).id);
    await clock.advance(10);
  }
  await clock.advance(30_000);
  await a.sessions.find(ticketOf(), mine[0]!); // seen again
  await clock.advance(1);
  const fourth = await opened(a);
  const kinds = [];
  for (const id of [...mine, fourth.id]) kinds.push((await a.sessions.find(ticketOf(), id)).kind);
  assert.deepEqual(kinds, ['found', 'unknown', 'found', 'found']);
  assert.equal((await a.sessions.find(ticketOf('bob'), others.id)).kind, 'found');
});

test('GB-142: while the store is silent a session is unreadable, not unknown, and recovers', async () => {
  let silent = false;
  const guard = async () => {
    if (silent) throw new Error('unreachable');
  };
  const { clock, replica, faults } = setUp((store) => ({
    ...store,
    get: async (key) => {
      await guard();
      return store.get(key);
    },
    addToSet: async (...args) => {
      await guard();
      return store.addToSet(...args);
    },
  }));
  const a = replica();
  const { id } = await opened(a);
  silent = true;
  assert.equal((await a.sessions.find(ticketOf(), id)).kind, 'found'); // read less than a second ago
  await clock.advance(1000);
  assert.equal((await a.sessions.find(ticketOf(), id)).kind, 'unreadable');
  assert.equal((await a.sessions.open(ticketOf(), a.sessions.mint(), opening)).kind, 'unreadable');
  silent = false;
  assert.equal((await a.sessions.find(ticketOf(), id)).kind, 'found');
  assert.deepEqual(faults, ['session read', 'session write']);
});

test('two changes at once both count', async () => {
  const { replica, store } = setUp();
  const [a, b] = [replica(), replica()];
  const session = await opened(a);
  await Promise.all([
    a.sessions.change(session, { logLevel: 'info' }),
    b.sessions.change(session, { initialized: true }),
  ]);
  const record = JSON.parse((await store.get(recordKey('acme', session.id)))!) as Session['record'];
  assert.deepEqual([record.logLevel, record.initialized], ['info', true]);
});

test('a client id that is missing is a client of its own', async () => {
  const { replica } = setUp();
  const a = replica();
  const session = await opened(a, ticketOf('alice', null));
  assert.equal((await a.sessions.find(ticketOf('alice', null), session.id)).kind, 'found');
  assert.equal((await a.sessions.find(ticketOf('alice', 'app'), session.id)).kind, 'unknown');
});
