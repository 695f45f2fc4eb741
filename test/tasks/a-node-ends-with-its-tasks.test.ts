// What becomes of tasks when their node is told to end? It takes nothing new, but the open ones end first, and how they
// ended is there for whoever asks afterwards.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { ask, call, ended, textOf, until } from './client.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}.ts`, import.meta.url));

let redis: StartedRedis;
let cluster: Cluster;

before(async () => {
  redis = await startRedis();
  cluster = await startCluster({
    gateways: 1,
    poolManagers: 1,
    redis: redis.url,
    servers: ['tasks', 'tasks-plain'].map((name) => ({ name, args: [fixture(name)] })),
    limits: { promoteAfterMs: 150 },
  });
});

after(async () => {
  await cluster?.stop();
  await redis?.stop();
});

it('a draining node finishes its tasks, and takes answers for them', async () => {
  const at = (server: string) => cluster.gateways[0]!.route(`/acme/${server}/mcp`);
  const made = await Promise.all([
    call(at('tasks-plain'), 'slow_compute', { seconds: 1.5, label: 'promoted' }),
    call(at('tasks'), 'slow_compute', { seconds: 1.5, label: 'its own' }),
    call(at('tasks-plain'), 'confirm_delete', { filename: 'f' }),
  ]);
  const [promoted, own, asking] = made.map(({ result }) => result?.taskId);
  const stopping = cluster.poolManagers[0]!.stop();
  const open = await until(at('tasks-plain'), asking, (task) => task.status === 'input_required');
  const [key] = Object.keys(open.inputRequests as object);
  const inputResponses = { [String(key)]: { action: 'accept', content: { confirm: true } } };
  await ask(at('tasks-plain'), 'tasks/update', { taskId: asking, inputResponses });
  await stopping;
  assert.equal(textOf(await ended(at('tasks-plain'), promoted)), 'computed promoted');
  assert.equal(textOf(await ended(at('tasks'), own)), 'computed its own in 1.5 s');
  assert.equal(textOf(await ended(at('tasks-plain'), asking)), 'deleted f');
});
