// A gateway is told to end while clients call through a balancer that notices a little later (design §2): those that
// are told to leave go to the other one, and no call fails.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

const SERVER = join(fileURLToPath(new URL('../servers/', import.meta.url)), 'echo-legacy.mjs');
const PATH = '/acme/echo/mcp';

describe('a rolling restart', () => {
  let redis: StartedRedis;
  let cluster: Cluster;

  before(async () => {
    redis = await startRedis();
    cluster = await startCluster({
      gateways: 2,
      poolManagers: 1,
      redis: redis.url,
      servers: [{ name: 'echo', args: [SERVER] }],
      limits: { drainMs: 10_000, drainLeadMs: 1_500 },
    });
  });
  after(async () => {
    await cluster.stop();
    await redis.stop();
  });

  test('the one that ends is unready at once, serves until it is noticed, and resets nobody', async () => {
    const [leaving, staying] = cluster.gateways;
    const call = async (url: string) => {
      const params = { name: 'echo', arguments: { text: 'x' } };
      return (await callModern(url, { method: 'tools/call', params })).status;
    };
    for (const { route } of cluster.gateways) assert.equal(await call(route(PATH)), 200);
    const ready = async () => (await fetch(`${leaving!.admin}/readyz`)).status;
    assert.equal(await ready(), 200);
    const stopped = leaving!.stop();
    await eventually(async () => (await ready()) === 503, { deadlineMs: 5_000 });
    // The balancer asks every half second and wants two bad answers.
    const noticedAt = performance.now() + 1_000;
    const statuses: number[] = [];
    while (performance.now() < noticedAt) statuses.push(await call(leaving!.route(PATH)));
    for (let i = 0; i < 5; i++) statuses.push(await call(staying!.route(PATH)));
    await stopped;
    assert.ok(statuses.length > 6, String(statuses.length));
    assert.deepEqual(new Set(statuses), new Set([200]));
    await assert.rejects(call(leaving!.route(PATH)), { code: 'ECONNREFUSED' });
  });
});
