// Changes on the stream of a legacy session (protocol.md §5.3, §5.4, §5.8 #25), raw and by the published clients.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { connectV1 } from '../harness/client-legacy.ts';
import { connectV2 } from '../harness/client-modern.ts';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { openLegacySession } from '../harness/messages.ts';
import { ask, CHANGES, listen, openStream, told, tool } from './ears.ts';

describe('what a legacy client hears', { concurrency: false }, () => {
  let lockkeeper: Lockkeeper;
  const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
  const session = async (url: string) => (await openLegacySession(url)).session!;

  before(async () => {
    lockkeeper = await startStandalone({
      servers: ['legacy', 'modern'].map((era) => ({ name: era, args: [CHANGES], env: { ERA: era } })),
    });
  });
  after(() => lockkeeper.stop());

  for (const era of ['legacy', 'modern']) {
    test(`${era}: list changes come on the GET stream, updates of what was subscribed to until it is unsubscribed`, async () => {
      const url = at(era);
      const opened = await openLegacySession(url);
      assert.deepEqual((opened.result!.capabilities as Record<string, unknown>).resources, {
        subscribe: true,
        listChanged: true,
      });
      const stream = await openStream(url, opened.session!);
      assert.deepEqual(await ask(url, stream.session, 'resources/subscribe', { uri: 'note://a' }), {});
      await tool(url, 'grow', { name: `legacy-${era}` });
      await stream.wait('tools/list_changed');
      await tool(url, 'touch', { uri: 'note://a/part' });
      await tool(url, 'touch', { uri: 'note://b' });
      await stream.wait('resources/updated', 1, 'note://a/part');
      assert.deepEqual(await ask(url, stream.session, 'resources/unsubscribe', { uri: 'note://a' }), {});
      await tool(url, 'touch', { uri: 'note://a' });
      await tool(url, 'shrink', { name: `legacy-${era}` });
      await stream.wait('tools/list_changed', 2);
      assert.equal(stream.count('resources/updated'), 1);
      for (const message of stream.messages) assert.equal(JSON.stringify(message).includes('_meta'), false);
      stream.close();
    });

    test(`${era}: what cannot be subscribed to is -32602, and nothing is kept of it`, async () => {
      const id = await session(at(era));
      assert.equal(await ask(at(era), id, 'resources/subscribe', { uri: 'note://nowhere' }), -32602);
      assert.equal(
        await ask(lockkeeper.route('/acme/mcp'), await session(lockkeeper.route('/acme/mcp')), 'resources/subscribe', {
          uri: 'note://a',
        }),
        -32602,
      );
    });

    test(`${era}: without a stream each kind is kept once and told when one opens`, async () => {
      const url = at(era);
      const id = await session(url);
      assert.deepEqual(await ask(url, id, 'resources/subscribe', { uri: 'note://b' }), {});
      for (let i = 0; i < 3; i++) {
        await tool(url, 'fire', { times: 1 });
        await tool(url, 'touch', { uri: 'note://b' });
        const probe = await listen(url, { toolsListChanged: true });
        await tool(url, 'fire', { times: 1 });
        await probe.wait('tools/list_changed');
        probe.close();
      }
      const stream = await openStream(url, id);
      await stream.wait('tools/list_changed');
      await stream.wait('resources/updated', 1, 'note://b');
      await tool(url, 'touch', { uri: 'note://b' });
      await stream.wait('resources/updated', 2, 'note://b');
      assert.equal(stream.count('tools/list_changed'), 1);
      stream.close();
    });

    test(`GB-067: ${era}: a legacy and a modern client hear of one resource, each once, until the last has left`, async () => {
      const url = at(era);
      const mixed = lockkeeper.route('/acme/mcp');
      const uri = `note://a#lk.${era}`;
      const stream = await openStream(mixed, await session(mixed));
      assert.deepEqual(await ask(mixed, stream.session, 'resources/subscribe', { uri }), {});
      const ears = await listen(mixed, { resourceSubscriptions: [uri] });
      await tool(url, 'touch', { uri: 'note://a' });
      await stream.wait('resources/updated', 1, uri);
      await ears.wait('resources/updated', 1, uri);
      ears.close();
      await tool(url, 'touch', { uri: 'note://a' });
      await stream.wait('resources/updated', 2, uri);
      assert.equal(ears.count('resources/updated'), 1);
      assert.deepEqual(await ask(mixed, stream.session, 'resources/unsubscribe', { uri }), {});
      stream.close();
      const uris = async () => {
        const { subscribed, listens } = await told(url);
        return [...subscribed, ...listens.flatMap((l) => (l.resourceSubscriptions as string[] | undefined) ?? [])];
      };
      await eventually(async () => assert.equal((await uris()).includes('note://a'), false), { deadlineMs: 8_000 });
    });

    for (const how of ['streamable', 'sse'] as const) {
      test(`${era}: the published v1 client over ${how} is told of what it subscribed to, and of lists`, async () => {
        const client = await connectV1(at(era), how);
        const heard: string[] = [];
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'));
        try {
          await client.subscribeResource({ uri: 'note://a' });
          await eventually(
            async () => {
              await client.callTool({ name: 'touch', arguments: { uri: 'note://a' } });
              return heard.includes('note://a');
            },
            { deadlineMs: 5_000, everyMs: 200 },
          );
          await client.callTool({ name: 'fire', arguments: { times: 5 } });
          await eventually(() => heard.includes('tools'));
          await client.unsubscribeResource({ uri: 'note://a' });
          await assert.rejects(client.subscribeResource({ uri: 'note://nowhere' }), { code: -32602 });
        } finally {
          await client.close();
        }
      });
    }

    test(`${era}: the published v2 client listens`, async () => {
      const client = await connectV2(at(era), 'pinned');
      const heard: string[] = [];
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
      client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
      try {
        const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://a'] });
        await client.callTool({ name: 'touch', arguments: { uri: 'note://a' } });
        await client.callTool({ name: 'fire', arguments: { times: 5 } });
        await eventually(() => heard.includes('tools') && heard.includes('note://a'));
        await subscription.close();
      } finally {
        await client.close();
      }
    });
  }
});
