// Two gateways, two pool managers, one Redis: is anything missed when clients meet several replicas, and when one of them
// dies (protocol.md §5.3, §5.8 #20, #25, design §4)?

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { openLegacySession } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { ask, CHANGES, listen, openStream, told, tool, toolNames } from './ears.ts';

describe('across replicas', { concurrency: false }, () => {
  let redis: StartedRedis;
  let cluster: Cluster;
  const at = (gateway: number, server = 'legacy') => cluster.gateways[gateway]!.route(`/acme/${server}/mcp`);

  before(async () => {
    redis = await startRedis();
    const servers = ['legacy', 'modern'].map((era) => ({ name: era, args: [CHANGES], env: { ERA: era } }));
    cluster = await startCluster({ gateways: 2, poolManagers: 2, redis: redis.url, servers });
  });
  after(async () => {
    await cluster?.stop().catch(() => {}); // one of each was killed
    await redis?.stop();
  });

  test('a session subscribes at one replica and is told at the other, once, on the stream it has there', async () => {
    const { session } = await openLegacySession(at(0));
    const stream = await openStream(at(1), session!);
    assert.deepEqual(await ask(at(0), session!, 'resources/subscribe', { uri: 'note://a' }), {});
    await eventually(
      async () => {
        await tool(at(0), 'touch', { uri: 'note://a' });
        return stream.count('resources/updated', 'note://a') > 0;
      },
      { deadlineMs: 5_000, everyMs: 300 },
    );
    await tool(at(0), 'grow', { name: 'both' });
    await stream.wait('tools/list_changed');
    assert.equal(stream.count('tools/list_changed'), 1);
    assert.deepEqual(await ask(at(0), session!, 'resources/unsubscribe', { uri: 'note://a' }), {});
    await eventually(async () => assert.deepEqual((await told(at(0))).subscribed, []), { deadlineMs: 10_000 });
    stream.close();
  });

  test('GB-069: both replicas show the new list at once', async () => {
    const ears = [await listen(at(0), { toolsListChanged: true }), await listen(at(1), { toolsListChanged: true })];
    await Promise.all([toolNames(at(0)), toolNames(at(1))]);
    await tool(at(0), 'grow', { name: 'everywhere' });
    for (const gateway of [0, 1]) {
      await ears[gateway]!.wait('tools/list_changed');
      await eventually(async () => (await toolNames(at(gateway))).includes('everywhere'), { deadlineMs: 2_000 });
    }
    for (const one of ears) one.close();
  });

  test('a stream moves to another replica: what is told between is kept, and told once', async () => {
    const { session } = await openLegacySession(at(0));
    assert.deepEqual(await ask(at(0), session!, 'resources/subscribe', { uri: 'note://b' }), {});
    const first = await openStream(at(0), session!);
    await tool(at(0), 'touch', { uri: 'note://b' });
    await first.wait('resources/updated');
    first.close();
    // The gateway notices the closing when it will; by the last of these it has.
    const probe = await listen(at(1), { resourceSubscriptions: ['note://b'] });
    for (let i = 1; i <= 4; i++) {
      await tool(at(0), 'touch', { uri: 'note://b' });
      await probe.wait('resources/updated', i);
    }
    probe.close();
    const second = await openStream(at(1), session!);
    await second.wait('resources/updated');
    await tool(at(0), 'touch', { uri: 'note://b' });
    await second.wait('resources/updated', 2);
    assert.equal(second.count('resources/updated'), 2);
    second.close();
  });

  test('a pool manager dies: who listened at any gateway is told of what may have changed, and listens on', async () => {
    const ears = [
      await listen(at(0, 'modern'), { toolsListChanged: true, resourceSubscriptions: ['note://a'] }),
      await listen(at(1, 'modern'), { toolsListChanged: true, resourceSubscriptions: ['note://a'] }),
    ];
    const pid = Number(await tool(at(0, 'modern'), 'pid'));
    const holder = holderOf(pid);
    await cluster.poolManagers[holder]!.kill();
    for (const one of ears) {
      await eventually(() => one.count('resources/updated', 'note://a') >= 1, { deadlineMs: 60_000 });
      await eventually(() => one.count('tools/list_changed') >= 1, { deadlineMs: 60_000 });
    }
    await tool(at(1, 'modern'), 'touch', { uri: 'note://a' });
    for (const one of ears) await one.wait('resources/updated', 2, 'note://a');
    for (const one of ears) one.close();
  });

  test('a gateway dies with a session’s stream: the next one calls everything changed and tells on', async () => {
    const { session } = await openLegacySession(at(1));
    assert.deepEqual(await ask(at(1), session!, 'resources/subscribe', { uri: 'note://a' }), {});
    const stream = await openStream(at(1), session!);
    await tool(at(0), 'touch', { uri: 'note://a' });
    await stream.wait('resources/updated');
    await cluster.gateways[1]!.process.kill();
    await tool(at(0), 'touch', { uri: 'note://a' });
    // Until its beat has ended nobody can know that it is gone.
    await eventually(
      async () => {
        const next = await openStream(at(0), session!);
        try {
          await eventually(() => next.count('resources/updated', 'note://a') > 0, { deadlineMs: 1_000 });
          await tool(at(0), 'grow', { name: `after-${next.messages.length}` });
          await next.wait('tools/list_changed', next.count('tools/list_changed') + 1);
        } finally {
          next.close();
        }
      },
      { deadlineMs: 30_000, everyMs: 1_000 },
    );
  });

  /** The pool manager whose child it is: the one that dies with it. */
  function holderOf(pid: number): number {
    return cluster.poolManagers.findIndex((node) => descendants(node.pid).some((one) => one.pid === pid));
  }
});
