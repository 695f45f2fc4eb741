import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOwnership, type OwnerKey } from '../../src/nodes/ownership.ts';
import type { NodeRecord } from '../../src/nodes/record.ts';
import { type Registration, registerNode } from '../../src/nodes/registration.ts';
import { createStallWatch } from '../../src/nodes/stall-watch.ts';
import { createTestClock, createTestStore, memoryStore, settled, type TestClock, type TestStore } from './fakes.ts';

const LEASE = 15_000;
const KEY = '["acme","echo","d1","user","alice"]';
/** An owner key is hashed; its tenant is the hash tag. */
const LEASE_KEY = 'lk:{acme}:lease:4S9yJS9V59tXByuLBKpdSSa7lyoHUZ7dtTaWzKPARa8';
const OTHER = '["acme","echo","d1","user","bob"]';

let tokens = 0;

function rig() {
  const clock = createTestClock();
  const test = createTestStore(clock);
  return { clock, test };
}

function node(id: string, clock: TestClock, { store }: TestStore, live: () => readonly NodeRecord[] = () => []) {
  const lost: OwnerKey[] = [];
  const reborn: string[] = [];
  const busy = new Set<string>();
  const stall = createStallWatch(clock, LEASE / 2);
  const own: { entry: Registration | null } = { entry: null };
  const ownership = createOwnership({
    store,
    clock,
    nodeId: id,
    nodes: { live },
    stall,
    entry: {
      safeUntil: () => own.entry?.safeUntil() ?? Number.POSITIVE_INFINITY,
      safeSince: () => own.entry?.safeSince() ?? 0,
      renew: () => own.entry?.renew() ?? Promise.resolve(),
    },
    token: () => `t${++tokens}`,
    lost: (keys) => lost.push(...keys),
    reborn: (incarnation) => {
      reborn.push(incarnation);
      void own.entry?.announce({ incarnation });
    },
    warn: () => undefined,
    inUse: ({ owner }) => busy.has(owner),
    leaseMs: LEASE,
    idleMs: 60_000,
  });
  /** As every node does before it takes calls; from then on it beats. */
  async function register(): Promise<Registration> {
    const record = { id, incarnation: ownership.incarnation, address: 'x:1', draining: false };
    own.entry = await registerNode({ store, clock, warn: () => undefined }, record);
    return own.entry;
  }
  return { ownership, lost, reborn, busy, stall, register };
}

const claim = async (n: ReturnType<typeof node>, owner = KEY) => (await n.ownership.claim('acme', owner)).kind;

describe('who may serve a key', () => {
  test('a node that drains gives all its keys away at once, loses nothing by it, and claims no more', async () => {
    const { clock, test: store } = rig();
    const [leaving, staying] = [node('n1', clock, store), node('n2', clock, store)];
    assert.equal(await claim(leaving), 'held');
    assert.equal(await claim(leaving, OTHER), 'held');
    await leaving.ownership.handOver();
    assert.equal(await claim(staying), 'held');
    assert.equal(await claim(leaving), 'unreachable');
    assert.equal(await claim(leaving, 'new'), 'unreachable');
    await clock.pass(2 * LEASE);
    assert.deepEqual([leaving.lost, leaving.reborn], [[], []]);
    for (const { ownership } of [leaving, staying]) await ownership.close();
  });

  test('the first that claims it; the others are told who', async () => {
    const { clock, test } = rig();
    const [one, two] = [node('n1', clock, test), node('n2', clock, test)];
    assert.equal(await claim(one), 'held');
    assert.deepEqual(await two.ownership.claim('acme', KEY), { kind: 'moved', node: 'n1' });
    assert.equal(await claim(two, OTHER), 'held');
  });

  test('a claim of a key held and fresh does not look at the store', async () => {
    const { clock, test } = rig();
    const one = node('n1', clock, test);
    await claim(one);
    test.calls.length = 0;
    for (let i = 0; i < 100; i++) assert.equal(await claim(one), 'held');
    assert.deepEqual(test.calls, []);
  });

  test('many claims of one key at once are one look at the store', async () => {
    const { clock, test } = rig();
    const one = node('n1', clock, test);
    const kinds = await Promise.all(Array.from({ length: 50 }, () => claim(one)));
    assert.deepEqual(new Set(kinds), new Set(['held']));
    assert.deepEqual(test.calls, ['setIfAbsent']);
  });

  test('in use it stays for ever; idle it is released and another may have it', async () => {
    const { clock, test } = rig();
    const [one, two] = [node('n1', clock, test), node('n2', clock, test)];
    one.busy.add(KEY);
    await claim(one);
    await clock.pass(300_000);
    assert.equal(await claim(two), 'moved');
    one.busy.clear();
    await clock.pass(70_000);
    assert.equal(one.ownership.size, 0);
    assert.equal(await claim(two), 'held');
  });

  test('released, it is free at once', async () => {
    const { clock, test } = rig();
    const [one, two] = [node('n1', clock, test), node('n2', clock, test)];
    await claim(one);
    await one.ownership.release('acme', KEY);
    assert.equal(await claim(two), 'held');
    assert.equal(await claim(one), 'moved');
  });

  test('a store that cannot be reached is not another holder: what is fresh is served, then it is unreachable', async () => {
    const { clock, test } = rig();
    const one = node('n1', clock, test);
    await claim(one);
    test.down = true;
    assert.equal(await claim(one), 'held');
    assert.equal(await claim(one, OTHER), 'unreachable');
    await clock.pass(LEASE + 1_000);
    assert.equal(await claim(one), 'unreachable');
    assert.deepEqual([one.lost, one.reborn], [[], []]);
    test.down = false;
    await clock.pass(6_000);
    assert.equal(await claim(one), 'held');
    assert.deepEqual([one.lost, one.reborn], [[], []]);
  });

  test('a store that forgot everything takes no key away', async () => {
    const { clock, test } = rig();
    const [one, two] = [node('n1', clock, test), node('n2', clock, test)];
    await claim(one);
    await test.store.delete(LEASE_KEY);
    await clock.pass(6_000);
    assert.equal(await claim(two), 'moved');
    assert.deepEqual(one.lost, []);
  });

  test('after a stall longer than half a lease nothing is claimed before the leases were read again', async () => {
    const { clock, test } = rig();
    const one = node('n1', clock, test);
    await claim(one);
    test.calls.length = 0;
    clock.stall(8_000);
    assert.equal(await claim(one), 'held');
    assert.deepEqual(test.calls, ['compareAndTouch']);
    assert.deepEqual([one.lost, one.reborn], [[], []]);
  });

  test('a key lost during a stall is reported before the claim is answered, and the node has a new name', async () => {
    const { clock, test } = rig();
    const [one, two] = [node('n1', clock, test), node('n2', clock, test)];
    await claim(one);
    await claim(one, OTHER);
    const before = one.ownership.incarnation;
    clock.stall(20_000);
    assert.equal(await claim(two), 'held');
    const answer = claim(one).then((kind) => [kind, one.lost.map((k) => k.owner)]);
    assert.deepEqual(await answer, ['moved', [KEY]]);
    assert.equal(one.reborn.length, 1);
    assert.notEqual(one.ownership.incarnation, before);
    assert.equal(one.ownership.incarnation, one.reborn[0]);
    // What it kept stands under the new name: nobody takes it for a former life.
    const live = () => [{ id: 'n1', incarnation: one.reborn[0]!, address: 'x:1', draining: false }];
    assert.equal(await claim(node('n3', clock, test, live), OTHER), 'moved');
  });

  test('closed, it has released all, claims nothing and leaves no timer', async () => {
    const { clock, test } = rig();
    const one = node('n1', clock, test);
    await claim(one);
    await one.ownership.close();
    one.stall.close();
    assert.equal(await claim(one), 'unreachable');
    assert.equal(await test.store.get(LEASE_KEY), null);
    await test.store.close();
    await settled();
    assert.equal(clock.timers, 0);
  });
});

describe('who may serve the keys of a node that is gone', () => {
  /** How long it takes until `n` holds the key, claiming it twice a second as waiting callers do. */
  async function untilHeld(n: ReturnType<typeof node>, clock: TestClock, mostMs: number): Promise<number | null> {
    for (let ms = 0; ms <= mostMs; ms += 500) {
      if ((await claim(n)) === 'held') return ms;
      await clock.pass(500);
    }
    return null;
  }

  /** Two nodes, each with a view of the store of its own. */
  async function pair() {
    const clock = createTestClock();
    const real = memoryStore(clock);
    const [view, other] = [createTestStore(clock, real), createTestStore(clock, real)];
    const [one, two] = [node('n1', clock, view), node('n2', clock, other)];
    for (const each of [one, two]) await each.register();
    assert.equal(await claim(one), 'held');
    return { clock, real, view, one, two };
  }

  test('another, within seconds of its last beat and long before its lease ends', async () => {
    const { clock, test } = rig();
    const two = node('n2', clock, test);
    await test.store.set('lk:{}:node:n1', '{"id":"n1","incarnation":"life","address":"x:1","draining":false}', 3_000);
    await test.store.set(LEASE_KEY, '["n1","life","token"]', LEASE);
    assert.equal(await untilHeld(two, clock, 10_000), 5_000);
  });

  test('a lease of a node’s former life is void, when no other life of it can be meant', async () => {
    const { clock, test } = rig();
    const live = [{ id: 'n1', incarnation: 'second', address: 'x:1', draining: false }];
    const two = node('n2', clock, test, () => live);
    await test.store.set(LEASE_KEY, '["n1","first","token"]', LEASE);
    assert.equal(await untilHeld(two, clock, 10_000), 2_000);
  });

  test('looks that lie too far apart prove nothing: it may have lived between them', async () => {
    const { clock, test } = rig();
    const two = node('n2', clock, test);
    await test.store.set(LEASE_KEY, '["n1","life","token"]', 60_000);
    for (let i = 0; i < 5; i++) {
      assert.equal(await claim(two), 'moved');
      await clock.pass(3_000);
    }
    assert.equal(await untilHeld(two, clock, 10_000), 2_000);
  });

  test('a node that is cut off from the store stops before another serves, and knows it when it is back', async () => {
    const { clock, view, one, two } = await pair();
    view.down = true;
    let stopped = false;
    for (let ms = 0; ms < 20_000; ms += 250) {
      const [first, second] = [await claim(one), await claim(two)];
      assert.ok(first !== 'held' || second !== 'held', `both serve after ${ms} ms`);
      stopped ||= first === 'unreachable';
      if (second === 'held') break;
      await clock.pass(250);
    }
    assert.ok(stopped);
    assert.equal(await claim(two), 'held');
    view.down = false;
    // It beats again before anybody claims: what it knew of its leases is worth nothing all the same.
    await clock.pass(1_500);
    assert.equal(await claim(one), 'moved');
    assert.deepEqual([one.lost.map(({ owner }) => owner), one.reborn.length], [[KEY], 1]);
    assert.equal(await claim(two), 'held');
  });

  test('cut off for no longer than three seconds it has lost nothing, though others want it', async () => {
    const { clock, view, one, two } = await pair();
    view.down = true;
    for (let ms = 0; ms < 3_000; ms += 500) {
      assert.deepEqual([await claim(one), await claim(two)], ['held', 'moved']);
      await clock.pass(500);
    }
    view.down = false;
    for (let ms = 0; ms < 10_000; ms += 500) {
      assert.deepEqual([await claim(one), await claim(two)], ['held', 'moved']);
      await clock.pass(500);
    }
    assert.deepEqual([one.lost, one.reborn], [[], []]);
  });

  test('a node that wakes up asks before it serves', async () => {
    const clock = createTestClock();
    const real = memoryStore(clock);
    const one = node('n1', clock, createTestStore(clock, real));
    await one.register();
    assert.equal(await claim(one), 'held');
    // Shorter than what the watch over stalls is set to here: the entry alone tells.
    clock.stall(6_000);
    await real.set(LEASE_KEY, '["n2","life","token"]', LEASE);
    await real.set('lk:{}:node:n2', '{"id":"n2","incarnation":"life","address":"x:1","draining":false}', LEASE);
    assert.equal(await claim(one), 'moved');
    assert.deepEqual(
      one.lost.map(({ owner }) => owner),
      [KEY],
    );
  });

  test('its new name takes nothing from it, though its entry shows it a moment later', async () => {
    const { clock, real, one, two } = await pair();
    assert.equal(await claim(one, OTHER), 'held');
    await real.set(LEASE_KEY, '["n2","life","token"]', LEASE);
    for (let ms = 0; ms < 10_000; ms += 500) {
      assert.equal(await claim(two, OTHER), 'moved');
      await clock.pass(500);
    }
    assert.equal(one.reborn.length, 1);
    assert.equal(await claim(one, OTHER), 'held');
  });
});
