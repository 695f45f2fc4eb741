// subscriptions/listen, from a raw socket to a real process of either era (protocol.md §2.9, §5.1, §5.2).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { CHANGES, listen, SUB, told, tool, toolNames } from './ears.ts';

const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

describe('what a listener hears', { concurrency: false }, () => {
  let lockkeeper: Lockkeeper;
  const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

  before(async () => {
    const server = (name: string, env: Record<string, string>) => ({ name, args: [CHANGES], env });
    lockkeeper = await startStandalone({
      servers: [
        server('legacy', { ERA: 'legacy' }),
        server('modern', { ERA: 'modern' }),
        server('text-ids', { ERA: 'modern', TEXT_IDS: '1', END: 'both' }),
        server('storm', { ERA: 'modern', LISTEN: 'ends' }),
        server('deaf', { ERA: 'modern', LISTEN: 'refuse' }),
      ],
    });
  });
  after(() => lockkeeper.stop());

  for (const era of ['legacy', 'modern', 'text-ids']) {
    test(`GB-066: ${era}: the acknowledgement comes first however fast the server tells changes, each under the id`, async () => {
      await tool(at(era), 'pid');
      const storm = tool(at(era), 'fire', { times: 2_000 });
      const asked = { ...ALL, resourceSubscriptions: ['note://a', 'note://nowhere'] };
      const ears = await listen(at(era), asked, { id: 7 });
      await storm;
      await tool(at(era), 'fire', { times: 500 });
      await ears.wait('tools/list_changed');
      const [first] = ears.messages;
      assert.equal(first!.method, 'notifications/subscriptions/acknowledged');
      // The server has no prompts, and does not know the second resource.
      assert.deepEqual(first!.params!.notifications, {
        toolsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: ['note://a'],
      });
      for (const { params } of ears.messages) assert.strictEqual(params!._meta![SUB], 7);
      assert.ok(ears.heard().length < 50, 'told once per window, not once per change');
      ears.close();
    });

    test(`${era}: a resource and its parts are told to who subscribed to it, nothing else`, async () => {
      const ears = await listen(at(era), { resourceSubscriptions: ['note://a'] });
      await tool(at(era), 'touch', { uri: 'note://b' });
      await tool(at(era), 'grow', { name: `only-for-lists-${era}` });
      await tool(at(era), 'touch', { uri: 'note://a/part' });
      await tool(at(era), 'touch', { uri: 'note://a' });
      await ears.wait('resources/updated', 1, 'note://a/part');
      await ears.wait('resources/updated', 1, 'note://a');
      assert.deepEqual(new Set(ears.heard()), new Set(['resources/updated']));
      assert.equal(ears.count('resources/updated', 'note://b'), 0);
      ears.close();
    });

    test(`GB-069: ${era}: a tool that appears is listed at once, one that goes is gone, and the listener is told once`, async () => {
      await toolNames(at(era));
      const ears = await listen(at(era), { toolsListChanged: true });
      await tool(at(era), 'grow', { name: 'g2' });
      await ears.wait('tools/list_changed');
      await eventually(async () => (await toolNames(at(era))).includes('g2'), { deadlineMs: 2_000 });
      await tool(at(era), 'shrink', { name: 'g2' });
      await ears.wait('tools/list_changed', 2);
      await eventually(async () => !(await toolNames(at(era))).includes('g2'), { deadlineMs: 2_000 });
      assert.equal(ears.count('tools/list_changed'), 2);
      const { message } = await callModern(at(era), { method: 'tools/call', params: { name: 'g2', arguments: {} } });
      assert.equal((message!.error as { code: number }).code, -32602);
      ears.close();
    });
  }

  test('GB-069: without any listener too, since the gateway listens for what it keeps', async () => {
    await toolNames(at('legacy'));
    await tool(at('legacy'), 'grow', { name: 'unheard' });
    await eventually(async () => (await toolNames(at('legacy'))).includes('unheard'), { deadlineMs: 3_000 });
  });

  test('GB-070: only what was asked for; no progress, no log, nobody else’s resource', async () => {
    const alice = await listen(at('legacy'), { promptsListChanged: true });
    const bob = await listen(at('legacy'), { resourceSubscriptions: ['note://b'] });
    await tool(at('legacy'), 'fire', { times: 3 });
    await tool(at('legacy'), 'fire', { times: 3, what: 'message' });
    await tool(at('legacy'), 'fire', { times: 3, what: 'progress' });
    await tool(at('legacy'), 'touch', { uri: 'note://b' });
    await bob.wait('resources/updated');
    assert.deepEqual(bob.heard(), ['resources/updated']);
    assert.deepEqual(alice.heard(), []);
    alice.close();
    bob.close();
  });

  for (const era of ['legacy', 'modern']) {
    test(`GB-067: ${era}: one subscription upstream for all who listen, given up after the last has left`, async () => {
      const url = at(era);
      const [one, two] = [
        await listen(url, { resourceSubscriptions: ['note://b'] }, { id: 1 }),
        await listen(lockkeeper.route('/acme/mcp'), { resourceSubscriptions: [`note://b#lk.${era}`] }, { id: '1' }),
      ];
      await tool(url, 'touch', { uri: 'note://b' });
      await one.wait('resources/updated', 1, 'note://b');
      await two.wait('resources/updated', 1, `note://b#lk.${era}`);
      assert.strictEqual(one.messages.at(-1)!.params!._meta![SUB], 1);
      assert.strictEqual(two.messages.at(-1)!.params!._meta![SUB], '1');
      const uris = async (): Promise<unknown> => {
        const { subscribed, listens } = await told(url);
        return era === 'legacy' ? subscribed : listens.flatMap((l) => l.resourceSubscriptions ?? []);
      };
      assert.deepEqual(await uris(), ['note://b']);
      one.close();
      await tool(url, 'touch', { uri: 'note://b' });
      await two.wait('resources/updated', 2);
      two.close();
      await eventually(async () => assert.deepEqual(await uris(), []), { deadlineMs: 8_000 });
    });
  }

  test('GB-068: a server that ends each listen is asked again more and more slowly, and nobody is told of a change', async () => {
    const ears = await listen(at('storm'), { toolsListChanged: true });
    await eventually(async () => (await told(at('storm'))).listensSeen >= 3, { deadlineMs: 15_000, everyMs: 200 });
    const { listensSeen } = await told(at('storm'));
    assert.ok(listensSeen < 10, `${listensSeen} listens`);
    assert.deepEqual(ears.heard(), []);
    ears.close();
  });

  test('GB-068: a server that knows no listen is asked once, and nothing of it is promised', async () => {
    const ears = await listen(at('deaf'), { toolsListChanged: true });
    assert.deepEqual(ears.messages[0]!.params!.notifications, {});
    ears.close();
    const again = await listen(at('deaf'), { toolsListChanged: true });
    assert.equal((await told(at('deaf'))).listensSeen, 1);
    again.close();
  });

  test('a modern server that ends a listen is listened to again, and what may have been missed is told', async () => {
    for (const era of ['modern', 'text-ids']) {
      const ears = await listen(at(era), { toolsListChanged: true, resourceSubscriptions: ['note://a'] });
      await tool(at(era), 'drop');
      await ears.wait('resources/updated', 1, 'note://a');
      assert.equal(ears.count('tools/list_changed'), 0, 'the tools are what they were');
      await tool(at(era), 'grow', { name: `later-${era}` });
      await ears.wait('tools/list_changed');
      ears.close();
    }
  });

  test('params.notifications is required and checked; taskIds need the extension', async () => {
    const code = async (notifications: unknown, meta = {}) => {
      const params = notifications === undefined ? {} : { notifications };
      const { status, message } = await callModern(at('legacy'), { method: 'subscriptions/listen', params, meta });
      return [status, (message!.error as { code: number }).code];
    };
    assert.deepEqual(await code(undefined), [200, -32602]);
    assert.deepEqual(await code([]), [200, -32602]);
    assert.deepEqual(await code({ toolsListChanged: 1 }), [200, -32602]);
    assert.deepEqual(await code({ resourceSubscriptions: [1] }), [200, -32602]);
    assert.deepEqual(await code({ taskIds: ['t'] }), [400, -32021]);
  });

  test('discover tells the truth of each route', async () => {
    const declared = async (url: string): Promise<Record<string, unknown>> => {
      const { message } = await callModern(url, { method: 'server/discover' });
      return (message!.result as { capabilities: Record<string, unknown> }).capabilities;
    };
    for (const url of [at('modern'), at('legacy'), lockkeeper.route('/acme/mcp')]) {
      const { tools, resources, prompts } = await declared(url);
      assert.deepEqual(
        { tools, resources },
        { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
      );
      assert.equal(prompts, undefined);
    }
  });
});
