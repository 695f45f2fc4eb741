// Task records over both stores: who may write which, and what a reader finds.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type StartedRedis, startRedis } from '../../../../test/harness/redis.ts';
import { systemClock } from '../../src/clock.ts';
import { createMemoryStore } from '../../src/memory/store.ts';
import { createRedisStore } from '../../src/redis/store.ts';
import type { Store } from '../../src/store.ts';
import { createTaskStore, type TaskRecord, type TaskStore } from '../../src/tasks/task-store.ts';

const deps = { clock: systemClock, warn: () => undefined };
let redis: StartedRedis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

const IMPLEMENTATIONS: readonly [string, () => Store][] = [
  ['memory', () => createMemoryStore(deps)],
  ['redis', () => createRedisStore({ ...deps, url: redis.url })],
];

for (const [kind, open] of IMPLEMENTATIONS) {
  describe(`${kind}: a task record`, () => {
    let store: Store;
    let tasks: TaskStore;
    const tenant = `t-${randomUUID()}`;
    const principal = { tenant, issuer: 'i', subject: 'alice', client: 'c' };
    const recordOf = (more: Partial<TaskRecord> = {}): TaskRecord => ({
      principal,
      route: '/acme/mcp',
      server: 's',
      digest: 'd',
      era: 'modern',
      tool: 't',
      capabilities: {},
      node: 'n',
      incarnation: 'i1',
      createdAt: '2026-11-30T00:00:00.000Z',
      endsAt: Date.now() + 60_000,
      ttlMs: 60_000,
      ...more,
    });
    before(() => {
      store = open();
      tasks = createTaskStore(store, Date.now);
    });
    after(() => store.close());

    test('is there as soon as it was written, without an end', async () => {
      assert.equal(await tasks.read(tenant, 'one'), null);
      assert.equal(await tasks.create(tenant, 'one', recordOf()), true);
      assert.deepEqual((await tasks.read(tenant, 'one'))?.record.principal, principal);
      assert.equal((await tasks.read(tenant, 'one'))?.end, null);
    });

    test('is written once: again by its owner changes nothing, by another it is refused', async () => {
      await tasks.create(tenant, 'two', recordOf());
      assert.equal(await tasks.create(tenant, 'two', recordOf({ node: 'elsewhere' })), true);
      assert.equal((await tasks.read(tenant, 'two'))?.record.node, 'n');
      const bob = { ...principal, subject: 'bob' };
      assert.equal(await tasks.create(tenant, 'two', recordOf({ principal: bob })), false);
    });

    test('has one end, the first, and tells of it', async () => {
      await tasks.create(tenant, 'three', recordOf());
      let told = 0;
      const stop = await tasks.onChange(tenant, 'three', () => void told++);
      assert.equal(await tasks.end(tenant, 'three', '"status":"completed"', 60_000), true);
      assert.equal(await tasks.end(tenant, 'three', '"status":"failed"', 60_000), false);
      assert.equal((await tasks.read(tenant, 'three'))?.end, '"status":"completed"');
      await eventually(() => told === 1);
      await stop();
    });

    test('tells of a change to who listens, and of nothing to who stopped', async () => {
      const heard: string[] = [];
      const stop = await tasks.onChange(tenant, 'four', () => heard.push('first'));
      const other = await tasks.onChange(tenant, 'four', () => heard.push('second'));
      await tasks.changed(tenant, 'four');
      await eventually(() => heard.length === 2);
      await stop();
      await tasks.changed(tenant, 'four');
      await eventually(() => heard.length === 3);
      assert.deepEqual(heard.sort(), ['first', 'second', 'second']);
      await other();
    });

    test('is listed for its owner alone', async () => {
      await tasks.enlist(principal, 'five', 60_000);
      assert.deepEqual(await tasks.listed(principal), ['five']);
      assert.deepEqual(await tasks.listed({ ...principal, client: 'another' }), []);
      assert.deepEqual(await tasks.listed({ ...principal, subject: 'bob' }), []);
    });
  });
}
