// A pool manager is killed. Its leases would live on for a while; who waits for them (design §4 "Who owns a pool key",
// ops/decisions/0010)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Stage, startStage, textOf } from './stage.ts';

let redis: StartedRedis;
let stage: Stage;
let admin: Redis;

before(async () => {
  redis = await startRedis();
  stage = await startStage(redis.url);
  admin = new Redis(redis.url);
});

after(async () => {
  admin?.disconnect();
  await stage?.stop();
  await redis?.stop();
});

/** Key and holder of every lease. */
async function leases(): Promise<ReadonlyMap<string, string>> {
  const keys = await admin.keys('lk:{acme}:lease:*');
  const values = await Promise.all(keys.map((key) => admin.get(key)));
  return new Map(keys.flatMap((key, i) => (values[i] ? [[key, (JSON.parse(values[i]) as string[])[0]!]] : [])));
}

describe('the keys of a pool manager that was killed', () => {
  it('are taken by another by its absence, though its leases would live for an hour', async (t) => {
    const pid = Number(textOf(await stage.call({ arg: 'pid', tool: 'pid' })));
    const { holder, other } = stage.holderOf(pid);
    const [dead, heir] = [holder, other].map((i) => stage.cluster.poolManagers[i]!);
    const held = [...(await leases())].filter(([, node]) => node === dead!.ready.node).map(([key]) => key);
    assert.ok(held.length > 0);
    await dead!.kill();
    for (const key of held) await admin.pexpire(key, 3_600_000);
    const since = performance.now();
    // One call that waits, rather than many that are tried.
    const said = await stage.call({ arg: 'pid', tool: 'pid', gateway: 1 });
    const now = Number(textOf(said));
    assert.ok(now > 0, JSON.stringify(said));
    t.diagnostic(`answered after ${Math.round(performance.now() - since)} ms`);
    assert.equal(stage.holderOf(now).holder, other);
    const then = await leases();
    assert.deepEqual(
      held.map((key) => then.get(key)),
      held.map(() => heir!.ready.node),
    );
  });
});
