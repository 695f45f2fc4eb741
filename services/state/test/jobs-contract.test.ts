// Do both kinds of jobs keep the contract of src/jobs.ts? One body for timers and BullMQ.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../test/harness/eventually.ts';
import { type StartedRedis, startRedis } from '../../../test/harness/redis.ts';
import { systemClock } from '../src/clock.ts';
import type { Jobs } from '../src/jobs.ts';
import { createMemoryJobs } from '../src/memory/jobs.ts';
import { createRedisJobs } from '../src/redis/jobs.ts';

const deps = { clock: systemClock, warn: () => undefined, backoffMs: 10 };

let redis: StartedRedis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

const IMPLEMENTATIONS: readonly [string, () => Jobs][] = [
  ['memory', () => createMemoryJobs(deps)],
  ['redis', () => createRedisJobs({ ...deps, url: redis.url })],
];

for (const [kind, open] of IMPLEMENTATIONS) {
  describe(`${kind} jobs`, { timeout: 60_000 }, () => {
    let jobs: Jobs;
    before(() => {
      jobs = open();
    });
    after(() => jobs.close());

    const nameOf = (): string => `job:${randomUUID()}`;
    /** A handler that records, and a sentinel that shows when everything before it has had its turn. */
    const record = (into: unknown[]) => async (payload: unknown) => {
      into.push(payload);
    };

    test('runs a job with its payload', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.handle(name, 1, record(got));
      await jobs.schedule(name, 'a:1', { n: 1, s: ['x', null] }, 0);
      await eventually(() => got.length === 1);
      assert.deepEqual(got, [{ n: 1, s: ['x', null] }]);
    });

    test('runs a job that was due before anyone handled its name', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.schedule(name, 'early', 'payload', 0);
      await jobs.handle(name, 1, record(got));
      await eventually(() => got.length === 1);
      assert.deepEqual(got, ['payload']);
    });

    test('runs in the order of the delays', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.handle(name, 1, record(got));
      await jobs.schedule(name, 'late', 'late', 2_000);
      await jobs.schedule(name, 'soon', 'soon', 50);
      await eventually(() => got.length === 2);
      assert.deepEqual(got, ['soon', 'late']);
    });

    test('the same id again replaces the one that has not run, earlier or later', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.schedule(name, 'x', 'first', 0);
      await jobs.schedule(name, 'x', 'second', 300);
      await jobs.schedule(name, 'y', 'far', 3_600_000);
      await jobs.schedule(name, 'y', 'near', 100);
      await jobs.handle(name, 1, record(got));
      await eventually(() => got.length === 2);
      // In whatever order: a busy machine may take longer between two of these lines than their delays differ.
      assert.deepEqual(got.sort(), ['near', 'second']);
    });

    test('the same id of another name is another job', async () => {
      const [one, two] = [nameOf(), nameOf()];
      const got: unknown[] = [];
      await jobs.handle(one, 1, record(got));
      await jobs.handle(two, 1, record(got));
      await jobs.schedule(one, 'x', 1, 0);
      await jobs.schedule(two, 'x', 2, 0);
      await eventually(() => got.length === 2);
      assert.deepEqual(got.sort(), [1, 2]);
    });

    test('a job scheduled again while it runs runs once more', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.handle(name, 1, async (payload) => {
        got.push(payload);
        if (payload === 'first') await jobs.schedule(name, 'x', 'second', 0);
      });
      await jobs.schedule(name, 'x', 'first', 0);
      await eventually(() => got.length === 2);
      assert.deepEqual(got, ['first', 'second']);
    });

    test('a cancelled job does not run', async () => {
      const name = nameOf();
      const got: unknown[] = [];
      await jobs.handle(name, 1, record(got));
      await jobs.schedule(name, 'x', 'cancelled', 150);
      await jobs.schedule(name, 'y', 'kept', 300);
      await jobs.cancel(name, 'x');
      await jobs.cancel(name, 'never there');
      await eventually(() => got.length === 1);
      assert.deepEqual(got, ['kept']);
    });

    test('runs at most so many at once', async () => {
      const name = nameOf();
      let running = 0;
      let most = 0;
      let done = 0;
      const waiting: (() => void)[] = [];
      await jobs.handle(name, 3, async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => waiting.push(resolve));
        running--;
        done++;
      });
      for (let i = 0; i < 9; i++) await jobs.schedule(name, `j${i}`, i, 0);
      await eventually(() => waiting.length === 3);
      await eventually(() => {
        waiting.shift()?.();
        return done === 9;
      });
      assert.equal(most, 3);
    });

    test('a handler that fails is called again, five times at most', async () => {
      const name = nameOf();
      const calls: Record<string, number> = { heals: 0, never: 0 };
      await jobs.handle(name, 2, async (payload) => {
        const which = String(payload);
        calls[which] = (calls[which] ?? 0) + 1;
        if (which === 'never' || calls[which] < 3) throw new Error('not yet');
      });
      await jobs.schedule(name, 'heals', 'heals', 0);
      await jobs.schedule(name, 'never', 'never', 0);
      await eventually(() => calls.never === 5 && calls.heals === 3, { deadlineMs: 15_000 });
      await jobs.schedule(name, 'after', 'heals', 0);
      await eventually(() => calls.heals === 4);
      assert.deepEqual(calls, { heals: 4, never: 5 });
    });

    test('a name has one handler', async () => {
      const name = nameOf();
      await jobs.handle(name, 1, async () => undefined);
      await assert.rejects(
        jobs.handle(name, 1, async () => undefined),
        /handler already/,
      );
    });

    test('close lets what runs end and starts nothing more', async () => {
      const own = open();
      const name = nameOf();
      let began = 0;
      let ended = 0;
      let release: () => void = () => undefined;
      await own.handle(name, 1, async () => {
        began++;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        ended++;
      });
      await own.schedule(name, 'a', 1, 0);
      await own.schedule(name, 'b', 2, 0);
      await eventually(() => began === 1);
      const closing = own.close();
      release();
      await closing;
      assert.deepEqual([began, ended], [1, 1]);
    });
  });
}

test('jobs on an unreachable Redis are refused, and taken when it is back', { timeout: 60_000 }, async () => {
  const { openRelay } = await import('./redis/relay.ts');
  const relay = await openRelay(redis.url);
  await relay.cut();
  const jobs = createRedisJobs({ ...deps, url: relay.url });
  const name = `job:${randomUUID()}`;
  const got: unknown[] = [];
  await jobs.handle(name, 1, async (payload) => {
    got.push(payload);
  });
  await assert.rejects(jobs.schedule(name, 'x', 1, 0), /unreachable/);
  await relay.mend();
  await eventually(() => jobs.schedule(name, 'x', 2, 0).then(() => true));
  await eventually(() => got.includes(2));
  await jobs.close();
  await relay.close();
});

test('jobs close in time when Redis is away, and when it hangs', { timeout: 30_000 }, async () => {
  const { openRelay } = await import('./redis/relay.ts');
  for (const how of ['cut', 'freeze'] as const) {
    const relay = await openRelay(redis.url);
    const jobs = createRedisJobs({ ...deps, url: relay.url });
    const name = `job:${randomUUID()}`;
    const got: unknown[] = [];
    await jobs.handle(name, 1, async (payload) => {
      got.push(payload);
    });
    await jobs.schedule(name, 'x', 1, 0);
    await eventually(() => got.includes(1));
    await relay[how]();
    await jobs.close();
    await relay.close();
  }
});
