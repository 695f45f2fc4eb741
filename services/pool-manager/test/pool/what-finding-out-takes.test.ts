// Design §5 caps: who finds out what a server is runs a process, too. It takes a place like any other, stands in the same
// line, and gives it on to the process that serves.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BusyError } from '../../src/pool/contract.ts';
import { legacyServer, modernServer, type Script } from '../raise/fake.ts';
import { type FindingStage, findingStage } from './finding-stage.ts';
import { ASKS, server, settled } from './stage.ts';

const specs = (count: number, tenant = 'acme') =>
  Array.from({ length: count }, (_x, i) => server({ name: `s${i}`, tenant, startTimeoutMs: 10_000 }));

/** Says what it is only after `ms`. */
const slow = (on: () => FindingStage, ms: number, script: Script): Script => {
  return (message, child) => void on().clock.setTimer(ms, () => script(message, child));
};

const kept = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

async function ended(on: FindingStage): Promise<void> {
  await on.end();
  assert.equal(on.living(), 0);
  assert.equal(on.clock.pending, 0);
}

describe('servers of unknown era under a cap', () => {
  for (const [era, script] of [
    ['legacy', legacyServer()],
    ['modern', modernServer()],
  ] as const) {
    for (const cap of [1, 4]) {
      for (const limit of ['maxPerNode', 'maxPerTenant']) {
        it(`${era}, ${limit} ${cap}: all 24 are found and served, and never more live`, async () => {
          const on = findingStage({ limits: { [limit]: cap }, script, endMs: 50 });
          let served = 0;
          const calls = specs(24).map(async (spec) => {
            const lease = await on.call(spec);
            served++;
            lease.release();
          });
          await on.pass(29_000);
          assert.equal(served, 24);
          await Promise.all(calls);
          assert.equal(on.peak, cap);
          await ended(on);
        });
      }
    }
  }

  it('where there is room a legacy server is introduced while the probe still ends', async () => {
    const on = findingStage({ limits: { maxPerNode: 2 }, script: legacyServer(), endMs: 2_000 });
    const call = on.call(specs(1)[0]!);
    await on.pass(10);
    assert.equal((await call).connection.profile.era, 'legacy');
    assert.equal(on.living(), 2);
    await ended(on);
  });

  it('many callers of one server cause one probe, and its process is the one that serves', async () => {
    const on = findingStage({ limits: { maxPerNode: 1 }, script: modernServer() });
    const [spec] = specs(1);
    const leases = Promise.all(Array.from({ length: 20 }, () => on.call(spec!)));
    await on.pass(100);
    assert.equal((await leases).length, 20);
    assert.equal(on.started.length, 1);
    await ended(on);
  });

  it('one whose callers were told otherwise than its spare was is started anew in the place of that', async () => {
    const on = findingStage({ limits: { maxPerNode: 1 }, script: legacyServer(), endMs: 50 });
    const call = on.call(specs(1)[0]!, { capabilities: ASKS });
    await on.pass(1_000);
    assert.notEqual((await call).connection.fingerprint, '');
    assert.equal(on.peak, 1);
    await ended(on);
  });

  it('a spare that nobody came for gives way like any idle process', async () => {
    const on = findingStage({ limits: { maxPerNode: 1 }, script: modernServer(), endMs: 50 });
    const [a, b] = specs(2);
    await on.connector.profile(a!, new AbortController().signal);
    const call = on.call(b!);
    await on.pass(200);
    assert.deepEqual(
      on.started.map(({ name }) => name),
      ['s0'],
      'its own caller has a moment',
    );
    await on.pass(2_000);
    (await call).release();
    assert.deepEqual(
      on.started.map(({ name }) => name),
      ['s0', 's1'],
    );
    assert.equal(on.peak, 1);
    await ended(on);
  });
});

describe('who waits for a place to find out', () => {
  /** One place, and a call that keeps it. */
  async function full(limits = { maxPerNode: 1, maxPerTenant: 64 }) {
    const on = findingStage({ limits, script: modernServer() });
    const call = on.call(server({ name: 'busy' }));
    await on.pass(10);
    return { on, lease: await call };
  }

  it('hears "busy" after his time, with what stood against it, and whoever has more time waits on', async () => {
    const { on, lease } = await full();
    const [spec] = specs(1);
    const hasty = kept(on.call(spec!, { waitMs: 1_000 }));
    const patient = on.call(spec!, { waitMs: 5_000 });
    await on.pass(1_500);
    const error = await hasty;
    assert.ok(error instanceof BusyError);
    assert.deepEqual(error.queue, { why: 'node-full', waiting: 2, processes: 0 });
    assert.equal(on.started.length, 1, 'nothing was begun for him');
    lease.release();
    await on.pass(1_000);
    (await patient).release();
    await ended(on);
  });

  it('the tenant’s cap holds for him, too, and is named', async () => {
    const { on } = await full({ maxPerNode: 64, maxPerTenant: 1 });
    const refused = kept(on.call(specs(1)[0]!, { waitMs: 1_000 }));
    const other = on.call(specs(1, 'beta')[0]!, { waitMs: 1_000 });
    await on.pass(1_500);
    assert.equal(((await refused) as BusyError).queue.why, 'tenant-full');
    (await other).release();
    await ended(on);
  });

  it('once all have left, nothing is begun, and the line goes on to the next', async () => {
    const { on, lease } = await full();
    const [a, b] = specs(2);
    const leaving = new AbortController();
    const left = kept(on.call(a!, { signal: leaving.signal }));
    const next = on.call(b!);
    await on.pass(10);
    leaving.abort(new Error('gone'));
    assert.match(String(await left), /gone/);
    lease.release();
    await on.pass(2_000);
    (await next).release();
    assert.deepEqual(
      on.started.map(({ name }) => name),
      ['busy', 's1'],
    );
    await ended(on);
  });

  it('a failed wait is not held against the server: the next call finds it', async () => {
    const { on, lease } = await full();
    const [spec] = specs(1);
    const refused = kept(on.call(spec!, { waitMs: 100 }));
    await on.pass(200);
    assert.ok((await refused) instanceof BusyError);
    lease.release();
    const call = on.call(spec!);
    await on.pass(1_000);
    (await call).release();
    await ended(on);
  });

  it('no more than limits.maxQueue wait for one server', async () => {
    const on = findingStage({ limits: { maxPerNode: 1, maxQueue: 2 }, script: modernServer() });
    const busy = on.call(server({ name: 'busy' }));
    await on.pass(10);
    const calls = Array.from({ length: 3 }, () => kept(on.call(specs(1)[0]!, { waitMs: 1_000 })));
    await settled();
    calls.push(kept(on.call(specs(1)[0]!, { waitMs: 1_000 })));
    await on.pass(1_500);
    const last = (await Promise.all(calls)).at(-1) as BusyError;
    assert.equal(last.queue.why, 'queue-full');
    (await busy).release();
    await ended(on);
  });

  it('tenants take turns: one server of a small tenant does not wait for twelve of a big one', async () => {
    let on: FindingStage | undefined;
    on = findingStage({ limits: { maxPerNode: 1 }, script: slow(() => on!, 500, modernServer()), endMs: 10 });
    const order: string[] = [];
    const calls = [...specs(12), ...specs(1, 'beta')].map(async (spec) => {
      const lease = await on.call(spec);
      order.push(spec.tenant);
      lease.release();
    });
    await on.pass(29_000);
    await Promise.all(calls);
    assert.ok(order.indexOf('beta') <= 2, `served in this order: ${order.join(' ')}`);
    await ended(on);
  });
});

describe('a start that must ask first', () => {
  const shared = (name: string) => server({ name, isolation: 'shared', pool: { minWarm: 1 }, startTimeoutMs: 10_000 });

  for (const [era, script] of [
    ['legacy', legacyServer()],
    ['modern', modernServer()],
  ] as const) {
    it(`${era}: asks in its own place, with a cap of one`, async () => {
      const on = findingStage({ limits: { maxPerNode: 1 }, script, endMs: 50 });
      on.pools.warm(shared('warm'));
      await on.pass(1_000);
      assert.equal(on.pools.rows()[0]?.state, 'idle');
      assert.equal(on.peak, 1);
      await ended(on);
    });
  }

  it('lends it to whoever waited for one to ask the same', async () => {
    let on: FindingStage | undefined;
    on = findingStage({ limits: { maxPerNode: 1 }, script: slow(() => on!, 100, modernServer()) });
    const spec = shared('warm');
    const busy = on.call(server({ name: 'busy' }));
    await on.pass(300);
    const call = on.call(spec);
    await on.pass(10);
    on.pools.warm(spec);
    (await busy).release();
    await on.pass(3_000);
    (await call).release();
    assert.equal(on.peak, 1);
    await ended(on);
  });

  it('that is given up leaves the place to the one who asks in it', async () => {
    let on: FindingStage | undefined;
    on = findingStage({ limits: { maxPerNode: 1 }, script: slow(() => on!, 1_000, modernServer()), endMs: 50 });
    const spec = shared('warm');
    on.pools.warm(spec);
    const profile = on.connector.profile(spec, new AbortController().signal);
    const other = on.call(specs(1)[0]!);
    await on.pass(100);
    on.pools.retire(spec.digest, 'now');
    await on.pass(100);
    assert.equal(on.living(), 1);
    await on.pass(5_000);
    assert.equal((await profile).era, 'modern');
    (await other).release();
    assert.equal(on.peak, 1);
    await ended(on);
  });
});
