// auth-security I-15; GB-018, GB-023, GB-024, GB-027, GB-028: failures are shared, spaced out and forgotten in time.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CrashHistory } from '../../src/pool/health/crash-history.ts';
import { StartError } from '../../src/raise/contract.ts';
import { ASKS, lease, now, numberOf, server, settled, stage } from './stage.ts';

const startError = (words: RegExp) => (error: unknown) => error instanceof StartError && words.test(error.words);

describe('the history of crashes', () => {
  it('spaces starts out, doubling, and opens the circuit at the fifth crash', () => {
    const history = new CrashHistory();
    const pauses: number[] = [];
    let at = 0;
    for (let i = 0; i < 6; i++) {
      history.crashed('boom', '', 50, at);
      const gate = history.gate(at)!;
      pauses.push(gate.untilMs - at);
      at = gate.untilMs;
    }
    assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 60_000, 60_000]);
    assert.equal(history.gate(at), null);
  });

  it('says why and when it tries again', () => {
    const history = new CrashHistory();
    history.crashed('exited with code 1', '', 0, 0);
    assert.equal(history.gate(0)!.words, 'exited with code 1 (the next try is in 1 s)');
    for (let i = 0; i < 4; i++) history.crashed('exited with code 1', '', 0, 0);
    const gate = history.gate(10_000)!;
    assert.equal(
      gate.words,
      'it failed 5 times within 5 minutes, the last time: exited with code 1; the next try is in 50 s',
    );
    assert.equal(gate.circuitOpen, true);
  });

  it('does not say of a server that starts well and crashes in calls that it fails to start', () => {
    const history = new CrashHistory();
    history.crashed('boom', '', 0, 0);
    history.crashed('exited with code 3', '', 0, 0, 'call');
    assert.equal(
      history.gate(0)!.words,
      'it started, but crashed in calls once within 5 minutes, the last time: exited with code 3; the next try is in 1 s',
    );
    for (let i = 0; i < 4; i++) history.crashed('exited with code 3', '', 0, 0, 'call');
    assert.equal(
      history.gate(0)!.words,
      'it started, but crashed in calls 5 times within 5 minutes, the last time: exited with code 3; the next try is in 60 s',
    );
  });

  it('GB-027: forgets after five minutes, or when a process held out for one', () => {
    const history = new CrashHistory();
    for (let i = 0; i < 5; i++) history.crashed('boom', '', 0, 0);
    assert.equal(history.isOver(300_000), true);
    history.crashed('boom', '', 60_000, 100_000);
    assert.equal(history.gate(100_000)!.untilMs, 100_500);
  });
});

describe('a process that has ended, before its pool hears of it', () => {
  it('is lent to nobody: who waits gets another one', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    const first = await lease(s, { spec, capabilities: ASKS });
    const waiting = lease(s, { spec, capabilities: ASKS });
    assert.equal(await now(waiting), undefined);
    s.made[0]!.gone = true;
    first.release();
    assert.equal(await now(waiting), undefined);
    s.made[0]!.crash();
    await settled();
    await s.clock.advance(1_000);
    assert.equal(numberOf(await now(waiting)), 1);
  });
});

describe('a start that fails', () => {
  it('GB-018: reaches all who waited for it at once, with the tail for the operator', async () => {
    const s = stage();
    s.manual = true;
    const spec = server();
    const waiting = [1, 2, 3].map(() => lease(s, { spec }));
    s.pending[0]!.fail('exited with code 1 before it answered');
    for (const one of waiting) {
      await assert.rejects(one, (e: StartError) => {
        assert.equal(e.words, 'exited with code 1 before it answered');
        assert.equal(e.stderrTail, 'tail');
        return e instanceof StartError;
      });
    }
    assert.equal(s.warnings[0]?.fields.stderr, 'tail');
    assert.equal(s.pools.stats().starting, 0);
  });

  it('GB-027: 100 calls in 30 s cause few starts, and it recovers by itself', async () => {
    const s = stage();
    s.failing = 'exited with code 1';
    const spec = server();
    let refused = 0;
    for (let i = 0; i < 100; i++) {
      lease(s, { spec }).catch(() => refused++);
      await s.clock.advance(300);
    }
    assert.ok(s.starts >= 3 && s.starts <= 6, `${s.starts}`);
    assert.equal(refused, 100);
    await assert.rejects(lease(s, { spec }), startError(/failed 5 times within 5 minutes.*next try is in \d+ s/));
    assert.equal(s.pools.stats().openCircuits, 1);
    s.failing = null;
    await s.clock.advance(60_000);
    assert.ok(await now(lease(s, { spec })));
  });

  it('within the first short pause a caller waits for the next try', async () => {
    const s = stage();
    s.failing = 'boom';
    await assert.rejects(lease(s, { spec: server() }), startError(/^boom$/));
    s.failing = null;
    const next = lease(s, { spec: server() });
    assert.equal(await now(next), undefined);
    await s.clock.advance(600);
    assert.equal(numberOf(await now(next)), 0);
    assert.equal(s.starts, 2);
  });

  it('a caller whose time is over within the pause is told what failed, not "busy"', async () => {
    const s = stage();
    s.failing = 'boom';
    await lease(s, { spec: server() }).catch(() => {});
    const hurried = lease(s, { spec: server(), waitMs: 100 });
    await s.clock.advance(150);
    await assert.rejects(hurried, startError(/^boom \(the next try is in 1 s\)$/));
  });

  it('GB-024: twenty sessions of a server that never started have it started once, and share the verdict', async () => {
    const s = stage();
    s.manual = true;
    const spec = server();
    const waiting = Array.from({ length: 20 }, (_x, i) => lease(s, { spec, subject: `u${i}` }));
    await settled();
    assert.equal(s.starts, 1);
    s.pending[0]!.fail('never answered');
    await settled();
    const outcomes = await Promise.allSettled(waiting);
    assert.deepEqual([...new Set(outcomes.map((o) => o.status))], ['rejected']);
    assert.equal(s.starts, 1);
  });

  it('a server that is known to start is started for many at once', async () => {
    const s = stage();
    const spec = server();
    await lease(s, { spec, subject: 'first' });
    s.manual = true;
    for (let i = 0; i < 10; i++) void lease(s, { spec, subject: `u${i}` });
    assert.equal(s.starts, 11);
    for (const one of s.pending) one.succeed();
    await settled();
    assert.equal(s.pools.stats().leases, 11);
  });

  it('leaves waiters alone where another process still serves', async () => {
    const s = stage();
    const spec = server({ pool: { max: 2 } });
    const held = await lease(s, { spec, capabilities: ASKS });
    s.failing = 'boom';
    const waiting = lease(s, { spec, capabilities: ASKS });
    await settled();
    assert.equal(await now(waiting), undefined);
    held.release();
    assert.equal(numberOf(await now(waiting)), 0);
  });

  it('GB-028: nothing of it outlives the node', async () => {
    const s = stage();
    s.failing = 'boom';
    for (let i = 0; i < 6; i++) {
      await lease(s, { spec: server() }).catch(() => {});
      await s.clock.advance(5_000);
    }
    assert.ok(await now(lease(stage(), { spec: server() })));
  });

  it('GB-020: a start without end is given up after its budgets', async () => {
    const s = stage();
    s.manual = true;
    const spec = server({ startTimeoutMs: 1_000 });
    const waiting = lease(s, { spec, waitMs: 500 });
    await s.clock.advance(1_500);
    await assert.rejects(waiting, startError(/not finished starting/));
    await s.clock.advance(40_000);
    assert.equal(s.pools.stats().starting, 0);
    assert.ok(s.pending[0]!.signal.aborted);
  });

  it('a fault that is not a StartError becomes one, and is logged', async () => {
    const s = stage();
    s.manual = true;
    const waiting = lease(s, { spec: server() });
    s.pending[0]!.fault(new TypeError('a bug of ours'));
    await assert.rejects(waiting, startError(/^an internal fault; see the log$/));
    assert.ok(s.warnings.some(({ fields }) => String(fields.err).includes('a bug of ours')));
  });
});

describe('a process that crashes', () => {
  it('GB-023: is noticed at once; the next call starts a fresh one', async () => {
    const s = stage();
    const spec = server();
    const first = await lease(s, { spec });
    s.made[0]!.crash();
    await settled();
    first.release();
    assert.equal(s.pools.stats().crashes, 1);
    const next = lease(s, { spec });
    await s.clock.advance(600);
    assert.equal(numberOf(await now(next)), 1);
  });

  it('after a long life is replaced at once when somebody waits', async () => {
    const s = stage();
    const spec = server({ pool: { max: 1 } });
    const held = await lease(s, { spec, capabilities: ASKS });
    const waiting = lease(s, { spec, capabilities: ASKS, waitMs: 200_000 });
    await s.clock.advance(100_000);
    s.made[0]!.crash();
    await settled();
    await s.clock.advance(600);
    assert.equal(numberOf(await now(waiting)), 1);
    held.release();
  });

  it('I-15: five crashes open the circuit for that key only', async () => {
    const s = stage();
    const spec = server();
    for (let i = 0; i < 5; i++) {
      await s.clock.advance(8_000);
      await lease(s, { spec, subject: 'poison' });
      s.made.at(-1)!.crash();
      await settled();
    }
    await assert.rejects(lease(s, { spec, subject: 'poison' }), startError(/crashed in calls 5 times.*next try is in/));
    assert.ok(await now(lease(s, { spec, subject: 'innocent' })));
  });

  it('who gave it back because it ended was still in a call; who had done so long before was not', async () => {
    const words: string[] = [];
    for (const restMs of [0, 5_000]) {
      const s = stage();
      for (let i = 0; i < 4; i++) {
        await s.clock.advance(8_000);
        (await lease(s, { spec: server() })).release();
        await s.clock.advance(restMs);
        s.made.at(-1)!.crash();
        await settled();
      }
      await lease(s, { spec: server() }).catch((e: StartError) => words.push(e.words.replace(/ within.*/, '')));
    }
    assert.deepEqual(words, ['it started, but crashed in calls 4 times', 'it started, but ended by itself 4 times']);
  });

  it('one person’s crashes in calls of an `exclusive` server keep nobody else from it', async () => {
    const s = stage();
    const spec = server({ isolation: 'exclusive' });
    for (let i = 0; i < 6; i++) {
      const held = await lease(s, { spec, subject: 'alice' });
      s.made.at(-1)!.crash();
      await settled();
      held.release();
    }
    const other = await now(lease(s, { spec, subject: 'bob' }));
    assert.notEqual(other, undefined);
    assert.equal(s.pools.stats().crashes, 6);
  });

  it('a stop of ours is no crash', async () => {
    const s = stage();
    (await lease(s, { spec: server({ isolation: 'exclusive' }) })).release();
    await settled();
    assert.equal(s.pools.stats().crashes, 0);
  });
});
