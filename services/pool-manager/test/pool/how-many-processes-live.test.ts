// Design §5: pool.max, caps above it, eviction, idle, age and use; GB-016.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BusyError } from '../../src/pool/contract.ts';
import { type PoolCounts, startsWanted, stopsWanted } from '../../src/pool/size.ts';
import { ASKS, lease, now, numberOf, server, settled, stage } from './stage.ts';

describe('starts wanted (table)', () => {
  const none: PoolCounts = {
    mode: 'many',
    max: 8,
    minWarm: 0,
    starting: 0,
    idle: 0,
    busy: 0,
    draining: 0,
    waiting: 0,
    leastLeases: 0,
    proven: true,
  };
  const cases: readonly [string, Partial<PoolCounts>, number][] = [
    ['nobody waits', {}, 0],
    ['side by side: one for all who wait', { waiting: 5 }, 1],
    ['side by side: one is starting', { waiting: 5, starting: 1 }, 0],
    ['side by side: the emptiest is crowded', { busy: 1, leastLeases: 32 }, 1],
    ['side by side: the emptiest is not crowded', { busy: 1, leastLeases: 31 }, 0],
    ['baton: one for each, four at once', { mode: 'baton', waiting: 6 }, 4],
    ['baton: an unproven server is tried once', { mode: 'baton', waiting: 6, proven: false }, 1],
    ['baton: and not a second time beside', { mode: 'baton', waiting: 6, proven: false, starting: 1 }, 0],
    ['baton: max counts those that drain', { mode: 'baton', waiting: 6, max: 3, busy: 1, draining: 1 }, 1],
    ['at max', { mode: 'once', waiting: 6, max: 2, busy: 2 }, 0],
    ['warm: side by side counts busy ones', { minWarm: 2, busy: 1 }, 1],
    ['warm: spares are unused ones', { mode: 'once', minWarm: 2, busy: 1 }, 2],
    ['warm: never over max', { mode: 'once', minWarm: 5, max: 2, busy: 1 }, 1],
  ];
  for (const [name, counts, wanted] of cases) {
    it(`${name}: ${wanted}`, () => assert.equal(startsWanted({ ...none, ...counts }), wanted));
  }
});

describe('stops wanted (table)', () => {
  const rules = { isolation: 'shared', minWarm: 0, idleMs: 100, maxAgeMs: 1_000, maxUses: 10 } as const;
  const child = { state: 'idle', idleSince: 10_000, startedAt: 10_000, grants: 1, tainted: false } as const;
  const cases: readonly [string, object, object, boolean][] = [
    ['fresh', {}, {}, false],
    ['idle too long', { idleSince: 9_900 }, {}, true],
    ['idle too long, but kept warm', { idleSince: 9_900 }, { minWarm: 1 }, false],
    ['busy is not idle', { idleSince: 9_000, state: 'busy' }, {}, false],
    ['too old, though busy', { startedAt: 9_000, state: 'busy' }, {}, true],
    ['too old, though kept warm', { startedAt: 9_000 }, { minWarm: 1 }, true],
    ['too old, but a session’s', { startedAt: 9_000 }, { isolation: 'session' }, false],
    ['used up', { grants: 10 }, {}, true],
    ['tainted just now', { tainted: true }, { idleMs: 60_000 }, false],
    ['tainted a while', { tainted: true, idleSince: 8_000 }, { idleMs: 60_000 }, true],
    [
      'tainted a while, but a session’s',
      { tainted: true, idleSince: 8_000 },
      { idleMs: 60_000, isolation: 'session' },
      false,
    ],
  ];
  for (const [name, view, rule, stops] of cases) {
    it(`${name}: ${stops ? 'stops' : 'stays'}`, () => {
      assert.equal(stopsWanted([{ ...child, ...view }], { ...rules, ...rule }, 10_000).length, stops ? 1 : 0);
    });
  }

  it('of several unused ones those used last stay warm', () => {
    const unused = [9_000, 9_300, 9_100].map((idleSince) => ({ ...child, idleSince, startedAt: 9_500 }));
    const stopped = stopsWanted(unused, { ...rules, minWarm: 1 }, 10_000).map(([c]) => c.idleSince);
    assert.deepEqual(stopped, [9_000, 9_100]);
  });
});

describe('the life of a process', () => {
  it('GB-016: 200 callers who never say goodbye leave nothing behind', async () => {
    const s = stage({ maxPerServer: 20 });
    const spec = server({ pool: { idleMs: 5_000 } });
    let most = 0;
    for (let i = 0; i < 200; i++) {
      (await lease(s, { spec, subject: `u${i}` })).release();
      most = Math.max(most, s.alive().length);
    }
    assert.ok(most <= 20, `${most}`);
    await s.clock.advance(7_000);
    assert.equal(s.alive().length, 0);
    assert.equal(s.pools.stats().pools, 0);
  });

  it('GB-122: 400 persons find room under a cap of 20, and those of a small tenant need not wait for the others', async () => {
    const s = stage({ maxPerServer: 200, maxPerTenant: 200, maxPerNode: 20 });
    const [big, small] = [server({ tenant: 'big' }), server({ tenant: 'small' })];
    const order: string[] = [];
    const visits = Array.from({ length: 400 }, async (_x, n) => {
      const spec = n % 80 === 79 ? small : big;
      const held = await lease(s, { spec, subject: `u${n}`, waitMs: 600_000 });
      order.push(spec.tenant);
      await new Promise((resolve) => void s.clock.setTimer(100, () => resolve(held.release())));
    });
    let most = 0;
    for (let n = 0; n < 200 && order.length < 400; n++) {
      await s.clock.advance(50);
      most = Math.max(most, s.alive().length);
    }
    await s.clock.advance(200);
    await Promise.all(visits);
    assert.ok(most <= 20, `${most}`);
    assert.equal(order.length, 400);
    assert.ok(order.lastIndexOf('small') < 60, `${order.lastIndexOf('small')}`);
  });

  it('idle ones end after pool.idleMs; those of sessions live as long as a session may be idle', async () => {
    const s = stage();
    (await lease(s, { spec: server({ name: 'u' }) })).release();
    (await lease(s, { spec: server({ name: 's', isolation: 'session' }), session: 'x' })).release();
    await s.clock.advance(302_000);
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [true, false],
    );
    await s.clock.advance(1_800_000);
    assert.equal(s.alive().length, 0);
  });

  it('an old one finishes its calls while a new one takes the next', async () => {
    const s = stage();
    const spec = server({ isolation: 'shared', pool: { maxAgeMs: 10_000 } });
    const old = await lease(s, { spec });
    await s.clock.advance(11_000);
    const next = await now(lease(s, { spec }));
    assert.equal(numberOf(next), 1);
    assert.equal(s.made[0]!.stopped, null);
    old.release();
    assert.match(s.made[0]!.stopped!, /pool\.maxAgeMs/);
  });

  it('one that has served pool.maxUses calls is replaced', async () => {
    const s = stage();
    const spec = server({ pool: { maxUses: 2 } });
    for (const expected of [0, 0, 1]) {
      const l = await lease(s, { spec });
      assert.equal(numberOf(l), expected);
      l.release();
    }
    assert.match(s.made[0]!.stopped!, /pool\.maxUses/);
  });

  it('minWarm of a shared server: started by warm(), kept when idle, replaced when lost; persons get none', async () => {
    const s = stage();
    s.pools.warm(server({ isolation: 'shared', pool: { minWarm: 2 } }));
    await s.clock.advance(3_000);
    assert.equal(s.alive().length, 2);
    await s.clock.advance(600_000);
    assert.equal(s.alive().length, 2);
    s.made[0]!.crash();
    await s.clock.advance(3_000);
    assert.equal(s.alive().length, 2);
    s.pools.warm(server({ name: 'u', isolation: 'user', pool: { minWarm: 2 } }));
    (await lease(s, { spec: server({ name: 'u', pool: { minWarm: 2 } }) })).release();
    await s.clock.advance(600_000);
    assert.equal(s.alive().length, 2);
  });
});

describe('caps', () => {
  const idleOf = async (s: ReturnType<typeof stage>, name: string, tenant = 'acme') => {
    (await lease(s, { spec: server({ name, tenant }) })).release();
    await s.clock.advance(10);
  };

  it('maxPerTenant: the tenant’s longest unused process makes room', async () => {
    const s = stage({ maxPerTenant: 2 });
    await idleOf(s, 'a');
    await idleOf(s, 'b');
    assert.equal(numberOf(await now(lease(s, { spec: server({ name: 'c' }) }))), 2);
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [true, false, false],
    );
    assert.equal(s.pools.stats().evictions, 1);
  });

  it('the new one starts only when the old one is gone', async () => {
    const s = stage({ maxPerTenant: 1 });
    await idleOf(s, 'a');
    const { promise, resolve } = Promise.withResolvers<void>();
    s.made[0]!.holdStop = promise;
    const waiting = lease(s, { spec: server({ name: 'b' }) });
    assert.equal(await now(waiting), undefined);
    assert.equal(s.starts, 1);
    resolve();
    assert.equal(numberOf(await waiting), 1);
  });

  it('maxPerServer: another server of the tenant is left alone', async () => {
    const s = stage({ maxPerServer: 1 });
    await idleOf(s, 'other');
    (await lease(s, { spec: server(), subject: 'a' })).release();
    await now(lease(s, { spec: server(), subject: 'b' }));
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [false, true, false],
    );
  });

  it('maxPerNode: one’s own first, else of the tenant that holds most', async () => {
    const s = stage({ maxPerNode: 3 });
    await idleOf(s, 'a', 'big');
    await idleOf(s, 'b', 'big');
    await idleOf(s, 'c', 'small');
    await now(lease(s, { spec: server({ tenant: 'small', name: 'd' }) }));
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [false, false, true, false],
    );
    await now(lease(s, { spec: server({ tenant: 'new', name: 'e' }) }));
    assert.equal(s.made[0]!.stopped !== null, true);
  });

  it('sessions go last, and busy ones never', async () => {
    const s = stage({ maxPerTenant: 2 });
    (await lease(s, { spec: server({ name: 'sess', isolation: 'session' }), session: 'x' })).release();
    await s.clock.advance(10);
    await idleOf(s, 'user');
    const held = await now(lease(s, { spec: server({ name: 'c' }) }));
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [false, true, false],
    );
    const d = lease(s, { spec: server({ name: 'd' }) });
    assert.equal(numberOf(await now(d)), 3);
    assert.ok(s.made[0]!.stopped !== null && s.made[2]!.stopped === null);
    const e = lease(s, { spec: server({ name: 'e' }), waitMs: 100 });
    await s.clock.advance(200);
    await assert.rejects(e, (error: BusyError) => error instanceof BusyError && error.queue.why === 'tenant-full');
    held!.release();
  });

  it('nobody is put out for a spare', async () => {
    const s = stage({ maxPerTenant: 1 });
    await idleOf(s, 'a');
    s.pools.warm(server({ name: 'w', isolation: 'shared', pool: { minWarm: 1 } }));
    await s.clock.advance(5_000);
    assert.equal(s.made[0]!.stopped, null);
    assert.equal(s.starts, 1);
  });

  it('counts hold after failures, crashes and stops', async () => {
    const s = stage({ maxPerTenant: 2 });
    for (let i = 0; i < 10; i++) {
      s.failing = i % 2 === 0 ? 'boom' : null;
      const l = await lease(s, { spec: server({ name: `s${i}` }), capabilities: ASKS }).catch(() => null);
      if (i % 4 === 1) s.made.at(-1)!.crash();
      l?.release();
      await settled();
    }
    await s.clock.advance(400_000);
    assert.equal(s.alive().length, 0);
    s.failing = null;
    for (const name of ['x', 'y']) assert.ok(await now(lease(s, { spec: server({ name }) })));
    assert.equal(await now(lease(s, { spec: server({ name: 'z' }) })), undefined);
  });
});
