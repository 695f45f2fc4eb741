// What does the store know of a parked exchange, for how long, and who acts when the node's own timer does not?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryJobs } from '@lockkeeper/state/memory/jobs';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import { eventually } from '../../../../test/harness/eventually.ts';
import { createBackup } from '../../src/parked/backup.ts';
import type { Askable } from '../../src/parked/contract.ts';
import { stage } from '../dispatch/stage.ts';
import { ALICE, BOB, notedLog, openOf } from '../raise/fake.ts';
import { asking, elicit, FORM, GREEN, retry, shown } from './asking.ts';

const SECRET = { action: 'accept', content: { color: 'a very secret color' } };
const PREFIX = 'lk:{acme}:xchg';

function noting(): { store: Store; ttls: Map<string, number> } {
  const store = createMemoryStore({ clock: systemClock, warn: () => {} });
  const ttls = new Map<string, number>();
  const set: Store['set'] = (key, value, ttlMs) => {
    ttls.set(key, ttlMs);
    return store.set(key, value, ttlMs);
  };
  return { store: { ...store, set }, ttls };
}

test('nothing before the first question; then where it is; at the end how it ended; every key with a TTL, never an answer', async () => {
  const { store, ttls } = noting();
  const s = stage({ scripts: [asking(elicit(1))], asks: { store } });
  const call = s.open('tools/call', { capabilities: FORM });
  assert.deepEqual(await store.scan(PREFIX), []);
  const { state, keys } = shown(await call.ended);
  await eventually(async () => (await store.scan(PREFIX)).length === 1);
  const [key] = await store.scan(PREFIX);
  assert.equal(key, `lk:{acme}:xchg:${call.head.xid}`);
  const record = JSON.parse((await store.get(key!))!) as Record<string, unknown>;
  const { deadline, ...rest } = record;
  assert.ok(typeof deadline === 'number' && deadline > Date.now());
  assert.deepEqual(rest, {
    principal: ALICE,
    session: null,
    server: 'fake',
    node: 'node-1',
    incarnation: 'life-1',
    state: 'parked',
  });
  const { value } = await retry(s, call, state, { [keys[0]!]: SECRET }).ended;
  await eventually(async () => (await store.scan(PREFIX)).join() === `${key}:result`);
  const kept = JSON.parse((await store.get(`${key}:result`))!) as { ended: { members: string } };
  assert.deepEqual(JSON.parse(`{${kept.ended.members}}`), value);
  assert.ok([...ttls.values()].every((ms) => ms > 0 && ms <= 60_000 + 90_000));
  assert.doesNotMatch(JSON.stringify(s.log.lines), /secret color/);
  await s.end();
});

test('an answer that is taken is nowhere in the store, also while the call goes on', async () => {
  const { store } = noting();
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: { store } });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  shown(await retry(s, call, state, { [keys[0]!]: SECRET }).ended);
  await eventually(async () => (await store.scan(PREFIX)).length === 1);
  for (const key of await store.scan('lk:')) assert.doesNotMatch((await store.get(key)) ?? '', /secret color/);
  await s.end();
});

test('another node reads the outcome for its owner, and for nobody else', async () => {
  const { store } = noting();
  const one = stage({ scripts: [asking(elicit(1))], asks: { store } });
  const call = one.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const { value } = await retry(one, call, state, { [keys[0]!]: GREEN }).ended;
  await eventually(async () => (await store.scan(PREFIX)).some((key) => key.endsWith(':result')));
  const two = stage({ scripts: [asking()], asks: { store } });
  assert.deepEqual((await retry(two, call, state, { [keys[0]!]: GREEN }).ended).value, value);
  const { fault } = await retry(two, call, state, null, { principal: BOB }).ended;
  assert.equal(fault?.reason, 'unknown-exchange');
  await one.end();
  await two.end();
});

test('a store that is away costs no call anything', async () => {
  const { store } = noting();
  const away = async () => {
    throw new Error('the store is away');
  };
  const s = stage({ scripts: [asking(elicit(1))], asks: { store: { ...store, set: away, get: away, delete: away } } });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const { value } = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN });
  assert.deepEqual((await retry(s, call, state, { [keys[0]!]: GREEN }).ended).value, value);
  const lost = await retry(s, call, 'x1.n.elsewhere', null, { xid: 'elsewhere' }).ended;
  assert.equal(lost.fault?.reason, 'unknown-exchange');
  await s.end();
});

function backupOf(store: Store, life: () => string, lives: boolean, behindMs = 20) {
  return createBackup({
    jobs: createMemoryJobs({ clock: systemClock, warn: () => {} }),
    ...{ store, clock: systemClock, log: notedLog(), behindMs },
    node: { id: 'node-1', incarnation: life },
    lives: () => lives,
  });
}

function exchangeOf(expired: () => void): Askable {
  const head = openOf('tools/call');
  return { head, principal: ALICE, session: null, expired } as unknown as Askable;
}

test('the backup makes a living node answer whose own timer failed', async () => {
  const { store } = noting();
  const backup = backupOf(store, () => 'life-1', true);
  await backup.start();
  let expired = 0;
  const exchange = exchangeOf(() => expired++);
  const { xid } = exchange.head;
  const place = { xid, principal: ALICE, node: 'node-1', incarnation: 'life-1', deadline: 0 };
  await store.set(
    `${PREFIX}:${xid}`,
    JSON.stringify({ ...place, session: null, server: 's', state: 'parked' }),
    10_000,
  );
  backup.watch(exchange, place, 1);
  await eventually(() => expired === 1);
  await backup.close();
});

test('the backup marks the exchange of a node that is gone as lost, with a TTL', async () => {
  const { store, ttls } = noting();
  const backup = backupOf(store, () => 'life-2', false);
  await backup.start();
  const exchange = exchangeOf(() => assert.fail('nobody of this life holds it'));
  const { xid } = exchange.head;
  const place = { xid, principal: ALICE, node: 'node-9', incarnation: 'life-9', deadline: 0 };
  const key = `${PREFIX}:${xid}`;
  await store.set(key, JSON.stringify({ ...place, session: null, server: 's', state: 'parked' }), 10_000);
  backup.watch(exchange, place, 1);
  await eventually(async () => ((await store.get(key)) ?? '').includes('"lost"'));
  assert.ok(ttls.get(key)! > 0);
  await backup.close();
});

test('an exchange that ended in time has no job left', async () => {
  const { store } = noting();
  const backup = backupOf(store, () => 'life-1', true, 0);
  await backup.start();
  const exchange = exchangeOf(() => assert.fail('it had ended'));
  const { xid } = exchange.head;
  const place = { xid, principal: ALICE, node: 'node-1', incarnation: 'life-1', deadline: 0 };
  await store.set(
    `${PREFIX}:${xid}`,
    JSON.stringify({ ...place, session: null, server: 's', state: 'parked' }),
    10_000,
  );
  backup.watch(exchange, place, 30);
  backup.unwatch(exchange);
  let seen = false;
  const other = exchangeOf(() => {
    seen = true;
  });
  const otherPlace = { ...place, xid: other.head.xid };
  await store.set(
    `${PREFIX}:${other.head.xid}`,
    JSON.stringify({ ...otherPlace, session: null, server: 's', state: 'parked' }),
    10_000,
  );
  backup.watch(other, otherPlace, 60);
  await eventually(() => seen);
  await backup.close();
});
