// Design §5, table and rules: who may share a process, and when a used one is lent again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Isolation } from '@lockkeeper/protocol/link/keys';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import { BusyError } from '../../src/pool/contract.ts';
import { ASKS, lease, now, numberOf, ownerOf, server, settled, stage } from './stage.ts';

describe('calls side by side', () => {
  it('shared: many persons on one process, started once', async () => {
    const s = stage();
    const spec = server({ isolation: 'shared' });
    const leases = await Promise.all(['a', 'b', 'c'].map((subject) => lease(s, { spec, subject })));
    assert.deepEqual(leases.map(numberOf), [0, 0, 0]);
    assert.equal(s.starts, 1);
  });

  it('user: one process per person', async () => {
    const s = stage();
    const spec = server();
    const leases = await Promise.all(['a', 'b', 'a'].map((subject) => lease(s, { spec, subject })));
    assert.deepEqual(
      leases.map(numberOf).map((n) => n === numberOf(leases[0])),
      [true, false, true],
    );
  });

  it('a second process is started beside one with 32 calls, not before', async () => {
    const s = stage();
    const spec = server({ isolation: 'shared' });
    for (let i = 0; i < 31; i++) await lease(s, { spec });
    assert.equal(s.starts, 1);
    await lease(s, { spec });
    await settled();
    const next = await now(lease(s, { spec }));
    assert.equal(s.starts, 2);
    assert.equal(numberOf(next), 1);
  });

  it('session: one process per session whatever pool.max says', async () => {
    const s = stage();
    const spec = server({ isolation: 'session' });
    for (let i = 0; i < 40; i++) await lease(s, { spec, session: 'one' });
    await lease(s, { spec, session: 'two' });
    assert.equal(s.starts, 2);
  });

  it('tenants never share, not even under one name', async () => {
    const s = stage();
    const leases = await Promise.all(
      ['acme', 'globex'].map((tenant) => lease(s, { spec: server({ tenant, isolation: 'shared', digest: 'same' }) })),
    );
    assert.deepEqual(
      leases.map((l) => s.made[numberOf(l)!]!.spec.tenant),
      ['acme', 'globex'],
    );
  });
});

describe('the baton', () => {
  const spec = server({ pool: { max: 1 } });

  it('one call runs at a time in a process that may be asked', async () => {
    const s = stage();
    const first = await lease(s, { spec, capabilities: ASKS });
    const second = lease(s, { spec, capabilities: ASKS });
    assert.equal(await now(second), undefined);
    first.release();
    assert.equal(numberOf(await now(second)), 0);
  });

  it('others get a process of their own up to pool.max', async () => {
    const s = stage();
    const two = server({ pool: { max: 2 } });
    const leases = [1, 2, 3].map(() => lease(s, { spec: two, capabilities: ASKS }));
    await now(leases[2]!);
    assert.equal(s.starts, 2);
    (await leases[0]!).release();
    assert.equal(numberOf(await now(leases[2]!)), numberOf(await leases[0]!));
  });

  it('a parked call gives it up and has it again before new calls', async () => {
    const s = stage();
    const parked = await lease(s, { spec, capabilities: ASKS });
    parked.park();
    const running = await lease(s, { spec, capabilities: ASKS });
    assert.equal(numberOf(running), 0);
    const waiting = lease(s, { spec, capabilities: ASKS });
    const resumed = parked.resume(new AbortController().signal).then(() => true);
    assert.equal(await now(resumed), undefined);
    running.release();
    assert.equal(await now(resumed), true);
    assert.equal(await now(waiting), undefined);
    parked.release();
    assert.equal(numberOf(await now(waiting)), 0);
  });

  it('a parked call keeps its process alive, and learns of its end', async () => {
    const s = stage();
    const parked = await lease(s, { spec, capabilities: ASKS });
    parked.park();
    await s.clock.advance(spec.pool.idleMs * 2);
    assert.equal(s.made[0]!.stopped, null);
    const running = await lease(s, { spec, capabilities: ASKS });
    const resumed = parked.resume(new AbortController().signal);
    s.made[0]!.crash();
    await assert.rejects(resumed, /process has ended: exited with code 3/);
    running.release();
    parked.release();
  });

  it('a call that is given up while it waits to run again stands in nobody’s way', async () => {
    const s = stage();
    const parked = await lease(s, { spec, capabilities: ASKS });
    parked.park();
    const running = await lease(s, { spec, capabilities: ASKS });
    const leaving = new AbortController();
    const resumed = parked.resume(leaving.signal);
    leaving.abort(new Error('gone'));
    await assert.rejects(resumed, /gone/);
    running.release();
    parked.release();
    assert.equal(numberOf(await now(lease(s, { spec, capabilities: ASKS }))), 0);
  });
});

describe('exclusive', () => {
  it('one call, one process', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive' });
    (await lease(s, { spec })).release();
    assert.equal(s.made[0]!.stopped, 'one call, one process');
    assert.equal(numberOf(await lease(s, { spec })), 1);
  });

  it('keepsNothing: lent again, also to others, but never after a taint', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive', keepsNothing: true });
    (await lease(s, { spec, subject: 'a' })).release();
    const again = await lease(s, { spec, subject: 'b' });
    assert.equal(numberOf(again), 0);
    s.made[0]!.tainted = true;
    again.release();
    assert.equal(numberOf(await lease(s, { spec, subject: 'a' })), 1);
    assert.equal(s.made[0]!.stopped, 'one call, one process');
  });

  it('keepsNothing: a call that says it is tainted counts too', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive', keepsNothing: true });
    (await lease(s, { spec })).release({ tainted: true });
    assert.equal(numberOf(await lease(s, { spec })), 1);
  });

  it('keepsNothing: never to another fingerprint, even a larger need under pressure', async () => {
    const s = stage({ maxPerServer: 1 });
    const spec = server({ isolation: 'exclusive', keepsNothing: true });
    (await lease(s, { spec })).release();
    const other = await now(lease(s, { spec, capabilities: ASKS }));
    assert.equal(numberOf(other), 1);
    assert.match(s.made[0]!.stopped!, /another server needed its place/);
  });

  it('spares are never-used processes, for whoever of the tenant comes', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive', pool: { minWarm: 1 } });
    const first = await lease(s, { spec, subject: 'a' });
    await s.clock.advance(1_000);
    assert.equal(s.starts, 2);
    s.manual = true;
    const second = await now(lease(s, { spec, subject: 'b' }));
    assert.equal(numberOf(second), 1);
    first.release();
  });
});

describe('taint', () => {
  for (const isolation of ['user', 'shared', 'session'] as Isolation[]) {
    it(`${isolation}: a cancelled id that stays unanswered ends an unused process, except a session’s`, async () => {
      const s = stage();
      const spec = server({ isolation });
      const l = await lease(s, { spec });
      s.made[0]!.tainted = true;
      l.release();
      await s.clock.advance(3_000);
      assert.equal(s.made[0]!.stopped !== null, isolation !== 'session');
    });
  }

  it('a late answer clears it', async () => {
    const s = stage();
    const spec = server();
    const l = await lease(s, { spec });
    s.made[0]!.tainted = true;
    l.release();
    await s.clock.advance(1_000);
    s.made[0]!.tainted = false;
    await s.clock.advance(10_000);
    assert.equal(s.made[0]!.stopped, null);
  });

  it('user: a call that gave no sign of its end ends the process when it is free', async () => {
    const s = stage();
    const spec = server();
    const [bad, good] = await Promise.all([lease(s, { spec }), lease(s, { spec })]);
    bad!.release({ tainted: true });
    assert.equal(s.made[0]!.stopped, null);
    good!.release({ tainted: true });
    assert.equal(s.made[0]!.stopped, 'a call gave no sign of having ended');
  });
});

describe('fingerprints', () => {
  const both = { elicitation: { form: {}, url: {} } };

  it('different ones get different processes', async () => {
    const s = stage();
    const spec = server();
    const leases = await Promise.all([lease(s, { spec }), lease(s, { spec, capabilities: ASKS })]);
    assert.notEqual(numberOf(leases[0]), numberOf(leases[1]));
    assert.deepEqual(
      s.made.map((c) => c.fingerprint),
      ['', 'elicitation.form'],
    );
  });

  it('a call waits for the process that was told all its client can, and an idle smaller one makes room', async () => {
    const s = stage({ maxPerServer: 1 });
    const spec = server();
    const small = await lease(s, { spec, capabilities: ASKS });
    const large = lease(s, { spec, capabilities: both });
    assert.equal(await now(large), undefined);
    small.release();
    await settled();
    const got = await now(large);
    assert.equal(s.made[numberOf(got)!]!.fingerprint, fingerprintOf(both));

    const t = stage();
    const one = server({ pool: { max: 1 } });
    (await lease(t, { spec: one, capabilities: ASKS })).release();
    const first = await lease(t, { spec: one, capabilities: both });
    const second = lease(t, { spec: one, capabilities: both });
    assert.equal(await now(second), undefined);
    first.release();
    assert.equal(numberOf(await now(second)), numberOf(first));
  });

  it('a smaller one serves who would be refused else; a larger one never', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    (await lease(s, { spec, capabilities: ASKS })).release();
    await lease(s, { spec, capabilities: both });
    const second = lease(s, { spec, capabilities: both, waitMs: 1_000 });
    await s.clock.advance(1_000);
    assert.equal(s.made[numberOf(await now(second))!]!.fingerprint, 'elicitation.form');

    const t = stage();
    (await lease(t, { spec, capabilities: both })).release();
    await lease(t, { spec, capabilities: ASKS });
    const smaller = lease(t, { spec, capabilities: ASKS, waitMs: 1_000 });
    await t.clock.advance(1_000);
    await assert.rejects(smaller, BusyError);
  });

  it('and never another person’s', async () => {
    const s = stage({ maxPerServer: 1 });
    const spec = server();
    const alice = await lease(s, { spec, subject: 'alice' });
    alice.release();
    const bob = await now(lease(s, { spec, subject: 'bob', capabilities: ASKS }));
    assert.equal(numberOf(bob), 1);
    assert.notEqual(ownerOf({ spec, subject: 'alice' }), ownerOf({ spec, subject: 'bob' }));
  });
});

describe('a server by URL', () => {
  const http = { http: { maxSessions: 2 } as never };

  it('has a cap of its own on sessions, and takes no process its place', async () => {
    const on = stage({ maxPerServer: 1, maxPerNode: 1 });
    const [far, near] = [server({ name: 'far', digest: 'far', ...http }), server({ name: 'near', digest: 'near' })];
    const held = [await lease(on, { spec: far, subject: 'a' }), await lease(on, { spec: far, subject: 'b' })];
    assert.ok(await now(lease(on, { spec: near, subject: 'a' })), 'two sessions leave room for a process');
    assert.equal(await now(lease(on, { spec: far, subject: 'c' })), undefined);
    held[0]!.release();
    const other = lease(on, { spec: far, subject: 'd' });
    await settled();
    assert.equal(on.alive().filter((one) => one.spec.name === 'far').length, 2, 'an idle session makes room');
    other.catch(() => {});
  });

  it('that is modern serves the calls of one person side by side, though it is exclusive', async () => {
    const on = stage();
    const spec = server({ isolation: 'exclusive', ...http });
    const [a, b] = [await lease(on, { spec, alone: false }), await lease(on, { spec, alone: false })];
    assert.equal(numberOf(a), numberOf(b));
    a.release();
    b.release();
    assert.equal(numberOf(await lease(on, { spec, alone: false })), numberOf(a));
    assert.notEqual(numberOf(await lease(on, { spec, alone: false, subject: 'bob' })), numberOf(a));
  });
});
