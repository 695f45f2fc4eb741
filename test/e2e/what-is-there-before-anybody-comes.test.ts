// After a start or a deploy: which processes are there already, and what can be answered without any (design §5 "Life of a
// process", protocol.md §2.10)?

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callLegacy, callModern, openLegacySession } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

const at = (file: string) => fileURLToPath(new URL(`../servers/${file}`, import.meta.url));
const REVISION = '2025-11-25';

let redis: StartedRedis;
let cluster: Cluster | null = null;

before(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await cluster?.stop();
  cluster = null;
});
after(() => redis?.stop());

const start = async (poolManagers: number, servers: Parameters<typeof startCluster>[0]['servers']) => {
  cluster = await startCluster({
    ...{ gateways: 1, poolManagers, redis: redis.url, servers },
    limits: { listTtlMs: 3_600_000 },
  });
  return { cluster, url: (name: string) => cluster!.gateways[0]!.route(`/acme/${name}/mcp`) };
};

/** How many processes each pool manager has. */
const children = (of: Cluster) => of.poolManagers.map(({ pid }) => descendants(pid).length);

describe('a shared server with pool.minWarm', () => {
  const WARM = { name: 'warm', isolation: 'shared', args: [at('says-anything.mjs')] } as const;

  it('has its processes on one node before anybody comes, serves by them, and moves with its node', async () => {
    const run = await start(2, [{ ...WARM, more: { pool: { minWarm: 2, max: 4 } } }]);
    await eventually(() => Math.max(...children(run.cluster)) === 2, { deadlineMs: 20_000 });
    assert.deepEqual(children(run.cluster).sort(), [0, 2]);
    const holder = children(run.cluster).indexOf(2);
    const call = { method: 'tools/call', params: { name: 'pid', arguments: {} } };
    const { message } = await callModern(run.url('warm'), call);
    const pid = Number((message as { result: { content: { text: string }[] } }).result.content[0]!.text);
    assert.ok(descendants(run.cluster.poolManagers[holder]!.pid).some((one) => one.pid === pid));
    // Its node goes as in a deploy: nobody calls, and they are started where the next call will go.
    await run.cluster.poolManagers[holder]!.stop();
    await eventually(() => children(run.cluster)[1 - holder] === 2, { deadlineMs: 20_000 });
  });
});

describe('a cluster that has just been deployed', () => {
  const SERVERS = (['shared', 'user'] as const).map((isolation) => ({
    name: isolation,
    isolation,
    args: [at('catalogue.mjs')],
  }));

  async function lists(url: string): Promise<unknown[]> {
    const said: unknown[] = [];
    for (const method of ['server/discover', 'tools/list', 'prompts/list', 'resources/list']) {
      const { status, message } = await callModern(url, { method });
      assert.equal(status, 200, JSON.stringify(message));
      const { ttlMs, ...result } = (message as { result: Record<string, unknown> }).result;
      assert.ok(typeof ttlMs === 'number');
      said.push(result);
    }
    const { session } = await openLegacySession(url, {});
    for (const method of ['tools/list', 'resources/templates/list']) {
      const how = { session: session!, revision: REVISION, message: { jsonrpc: '2.0', id: 5, method } };
      const { message } = await callLegacy(url, how);
      said.push((message as { result: unknown }).result);
    }
    return said;
  }

  it('answers lists and introductions of both eras without starting one process', async () => {
    const first = await start(1, SERVERS);
    const before = [await lists(first.url('shared')), await lists(first.url('user'))];
    assert.ok(children(first.cluster)[0]! > 0);
    await first.cluster.stop();
    const second = await start(2, SERVERS);
    const later = [await lists(second.url('shared')), await lists(second.url('user'))];
    assert.deepEqual(later, before);
    assert.deepEqual(children(second.cluster), [0, 0]);
    // Only a call needs one.
    const call = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } };
    const { message } = await callModern(second.url('shared'), call);
    assert.match(JSON.stringify(message), /hello/);
    assert.equal(children(second.cluster)[0]! + children(second.cluster)[1]!, 1);
  });
});
