// Design §5: fair queueing, queue bounds and deadlines, drain, close, reload, lost leases.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Turns } from '../../src/lease/turns.ts';
import { BusyError } from '../../src/pool/contract.ts';
import { StartError } from '../../src/raise/contract.ts';
import { ASKS, lease, now, numberOf, ownerOf, server, settled, stage } from './stage.ts';

const busy = (why: string) => (error: unknown) => error instanceof BusyError && error.queue.why === why;

describe('turns', () => {
  it('groups take turns, and one’s items come in order', () => {
    const turns = new Turns<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.add(item[0]!, item);
    turns.delete('a', 'a2');
    turns.delete('z', 'z1');
    assert.deepEqual(
      turns.inTurn().map(([, item]) => item),
      ['a1', 'b1', 'c1', 'a3', 'c2'],
    );
    const out: (string | undefined)[] = [];
    while (turns.size > 0) out.push(turns.take());
    assert.deepEqual(out, ['a1', 'b1', 'c1', 'a3', 'c2']);
    assert.equal(turns.take(), undefined);
  });
});

describe('the queue', () => {
  it('principals take turns: ten calls of one do not hold up the one of another', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive', pool: { max: 1 } });
    const order: string[] = [];
    const call = async (subject: string) => {
      const l = await lease(s, { spec, subject });
      order.push(subject);
      await settled();
      l.release();
    };
    await Promise.all([...'aaaaa', 'b'].map(call));
    assert.equal(order[1], 'b');
  });

  it('shared: one’s burst leaves room in each process, and the rest of it waits behind nobody else’s call', async () => {
    const s = stage();
    const spec = server({ isolation: 'shared', pool: { max: 2 } });
    const burst: string[] = [];
    const leases = Array.from({ length: 100 }, async (_x, n) => {
      const l = await lease(s, { spec, subject: 'alice' });
      burst.push(String(n));
      return l;
    });
    await settled();
    // Of each of the two processes.
    assert.equal(burst.length, 64);
    assert.equal(s.pools.stats().waiting, 36);
    const other = await lease(s, { spec, subject: 'bob' });
    assert.equal(burst.length, 64);
    other.release();
    await settled();
    // His place is no more of hers than before.
    assert.equal(burst.length, 64);
    (await leases[0]!).release();
    await settled();
    assert.equal(burst.length, 65);
    for (const one of leases) void one.then((l) => l.release());
    await Promise.all(leases);
    assert.deepEqual(
      burst,
      burst.toSorted((a, b) => Number(a) - Number(b)),
    );
    await settled();
    assert.equal(s.pools.stats().leases, 0);
    assert.equal(s.pools.stats().waiting, 0);
  });

  it('shared: who may have a place does not wait behind those who may not', async () => {
    const s = stage();
    const spec = server({ isolation: 'shared', pool: { max: 1 } });
    const held = await Promise.all(
      ['alice', 'bob'].flatMap((subject) => Array.from({ length: 32 }, () => lease(s, { spec, subject }))),
    );
    const order: string[] = [];
    const call = async (subject: string) => {
      const l = await lease(s, { spec, subject });
      order.push(subject);
      l.release();
    };
    const calls = Promise.all([...Array.from({ length: 6 }, () => call('alice')), call('bob')]);
    await call('carol');
    assert.deepEqual(order, ['carol']);
    // A place of his own is free, and those who wait before him have none.
    held.at(-1)!.release();
    await settled();
    assert.deepEqual(order, ['carol', 'bob']);
    for (const one of held) one.release();
    await calls;
    assert.equal(order.length, 8);
  });

  it('tenants take turns at a full node', async () => {
    const s = stage({ maxPerNode: 1 });
    const order: string[] = [];
    const call = async (tenant: string, n: number) => {
      const l = await lease(s, { spec: server({ tenant, name: `s${n}`, isolation: 'exclusive' }) });
      order.push(tenant);
      await settled();
      l.release();
    };
    const calls = [...[1, 2, 3, 4].map((n) => call('greedy', n)), call('modest', 9)];
    await Promise.all(calls);
    // The first ran without waiting, the second was first in the line: then it is the other's turn.
    assert.equal(order.indexOf('modest'), 2);
    assert.equal(order.length, 5);
  });

  it('is bounded per key', async () => {
    const s = stage({ maxQueue: 3 });
    const spec = server({ pool: { max: 1 } });
    await lease(s, { spec, capabilities: ASKS });
    const waiting = [1, 2, 3].map(() => lease(s, { spec, capabilities: ASKS }));
    await assert.rejects(lease(s, { spec, capabilities: ASKS }), busy('queue-full'));
    assert.equal(s.pools.stats().waiting, 3);
    assert.equal(await now(waiting[0]!), undefined);
  });

  it('that one person has filled is not full for another: his newest call goes', async () => {
    const s = stage({ maxQueue: 4 });
    const spec = server({ isolation: 'exclusive', pool: { max: 1 } });
    const held = await lease(s, { spec, subject: 'a', capabilities: ASKS });
    const call = (subject: string) => lease(s, { spec, subject, capabilities: ASKS });
    const burst = [1, 2, 3, 4].map(() => call('a'));
    const one = call('b');
    await assert.rejects(burst[3]!, busy('queue-full'));
    // Up to the same for each; who has no less than anybody is refused himself.
    const two = call('b');
    await assert.rejects(burst[2]!, busy('queue-full'));
    await assert.rejects(call('b'), busy('queue-full'));
    await assert.rejects(call('a'), busy('queue-full'));
    assert.equal(s.pools.stats().waiting, 4);
    held.release();
    for (const waiting of [burst[0]!, one, burst[1]!, two]) (await waiting).release();
  });

  it('a deadline ends the wait with the state of the queue and when to come again', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    await lease(s, { spec, capabilities: ASKS });
    const waiting = lease(s, { spec, capabilities: ASKS, waitMs: 5_000 });
    await s.clock.advance(4_900);
    assert.equal(s.pools.stats().oldestWaiterMs, 4_900);
    assert.equal(await now(waiting), undefined);
    await s.clock.advance(200);
    await assert.rejects(waiting, (error: BusyError) => {
      assert.equal(error.retryAfterMs, 1_000);
      assert.deepEqual(error.queue, { why: 'pool-full', waiting: 1, processes: 1 });
      return true;
    });
    assert.equal(s.pools.stats().waiting, 0);
  });

  it('who leaves is forgotten, and the start he caused goes on for others', async () => {
    const s = stage();
    s.manual = true;
    const spec = server();
    const leaving = new AbortController();
    const first = lease(s, { spec, signal: leaving.signal });
    const second = lease(s, { spec });
    leaving.abort(new Error('client left'));
    await assert.rejects(first, /client left/);
    s.pending[0]!.succeed();
    assert.equal(numberOf(await second), 0);
    assert.equal(s.starts, 1);
  });

  it('a lease asked for after its caller left is refused at once', async () => {
    const s = stage();
    await assert.rejects(lease(s, { spec: server(), signal: AbortSignal.abort(new Error('left')) }), /left/);
    assert.equal(s.starts, 0);
  });

  it('GB-026: a slow start has its own budget, beyond the queue’s, and then says so', async () => {
    const s = stage();
    s.manual = true;
    const spec = server({ startTimeoutMs: 90_000 });
    const patient = lease(s, { spec, waitMs: 10_000 });
    await s.clock.advance(75_000);
    assert.equal(await now(patient), undefined);
    await s.clock.advance(16_000);
    await assert.rejects(
      patient,
      (e: StartError) => e instanceof StartError && /not finished starting after 90 s/.test(e.words),
    );
    s.pending[0]!.succeed();
    assert.equal(numberOf(await now(lease(s, { spec }))), 0);
    assert.equal(s.starts, 1);
  });

  it('release twice counts once', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    const l = await lease(s, { spec, capabilities: ASKS });
    l.release();
    l.release();
    await lease(s, { spec, capabilities: ASKS });
    assert.equal(await now(lease(s, { spec, capabilities: ASKS })), undefined);
    assert.equal(s.pools.stats().leases, 1);
  });
});

describe('endings', () => {
  it('retire: idle ones at once, busy ones when given back, waiters are told, the next call starts anew', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    const held = await lease(s, { spec, capabilities: ASKS });
    (await lease(s, { spec, subject: 'idle' })).release();
    const waiting = lease(s, { spec, capabilities: ASKS });
    s.pools.retire(spec.digest);
    await assert.rejects(waiting, /configuration has changed/);
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [false, true],
    );
    assert.equal(numberOf(await lease(s, { spec, capabilities: ASKS })), 2);
    held.release();
    await settled();
    assert.match(s.made[0]!.stopped!, /configuration has changed/);
    assert.equal(s.pools.stats().pools, 1);
  });

  it('retire of a server that was taken away ends busy ones now, too', async () => {
    const s = stage();
    const spec = server();
    await lease(s, { spec });
    await lease(s, { spec: server({ name: 'other' }) });
    s.pools.retire(spec.digest);
    s.pools.retire(spec.digest, 'now');
    await settled();
    assert.deepEqual(
      s.made.map((c) => c.stopped !== null),
      [true, false],
    );
  });

  it('retire abandons a start, and what comes of it late is ended', async () => {
    const s = stage();
    s.manual = true;
    const spec = server();
    const waiting = lease(s, { spec });
    s.pools.retire(spec.digest);
    await assert.rejects(waiting, StartError);
    assert.ok(s.pending[0]!.signal.aborted);
    s.pending[0]!.succeed();
    await settled();
    assert.equal(s.made[0]!.stopped, 'it came too late');
    assert.equal(s.pools.stats().pools, 0);
    assert.equal(s.pools.stats().startFailures, 0);
  });

  for (const isolation of ['user', 'exclusive'] as const) {
    it(`dropOwner (${isolation}): that owner’s busy processes end now, others’ do not`, async () => {
      const s = stage();
      const spec = server({ isolation });
      await Promise.all(['a', 'b'].map((subject) => lease(s, { spec, subject })));
      const owner = ownerOf({ spec, subject: 'a' });
      assert.equal(s.pools.inUse(owner), true);
      s.pools.dropOwner(owner);
      await settled();
      assert.equal(s.alive().length, 1);
      assert.equal(s.pools.inUse(owner), false);
      assert.equal(s.pools.inUse(ownerOf({ spec, subject: 'b' })), true);
      assert.equal(s.pools.stats().crashes, 0);
    });
  }

  it('dropOwner refuses who waits and ends a start under way', async () => {
    const s = stage();
    s.manual = true;
    const spec = server();
    const waiting = lease(s, { spec });
    s.pools.dropOwner(ownerOf({ spec }));
    await assert.rejects(waiting, busy('not-ours'));
    s.pending[0]!.succeed();
    await settled();
    assert.equal(s.alive().length, 0);
  });

  it('drain: nothing new, what runs and waits goes on, each process ends when free', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    const running = await lease(s, { spec, capabilities: ASKS });
    const waiting = lease(s, { spec, capabilities: ASKS });
    (await lease(s, { spec, subject: 'idle' })).release();
    const drained = s.pools.drain(60_000).then(() => true);
    await assert.rejects(lease(s, { spec }), busy('closing'));
    assert.equal(s.made[1]!.stopped, 'the node is closing');
    running.release();
    const last = await waiting;
    assert.equal(await now(drained), undefined);
    last.release();
    assert.equal(await now(drained), true);
    assert.equal(s.alive().length, 0);
  });

  it('drain ends at its deadline, close ends everything, idempotently, and leaves no timer', async () => {
    const s = stage();
    const spec = server();
    await lease(s, { spec });
    s.manual = true;
    const starting = lease(s, { spec: server({ name: 'slow' }) });
    const drained = s.pools.drain(1_000).then(() => true);
    await s.clock.advance(1_100);
    assert.equal(await drained, true);
    assert.equal(s.alive().length, 1);
    const closed = Promise.all([s.pools.close(500), s.pools.close(500)]);
    await assert.rejects(starting, busy('closing'));
    await s.clock.advance(600);
    await closed;
    assert.equal(s.alive().length, 0);
    assert.equal(s.clock.pending, 0);
  });

  it('close waits for the last process to be gone', async () => {
    const s = stage();
    (await lease(s, { spec: server() })).release();
    const { promise, resolve } = Promise.withResolvers<void>();
    s.made[0]!.holdStop = promise;
    const closed = s.pools.close(0).then(() => true);
    assert.equal(await now(closed), undefined);
    resolve();
    assert.equal(await now(closed), true);
  });
});
