// A result of many megabytes reaches its client as the very bytes the link has received: written in pieces, never joined,
// never made a string of. Each copy on its way would be that many megabytes more for as long as the client reads.

import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { after, before, describe, type TestContext, test } from 'node:test';
import { call, events, greeting, open, post, reader, request, verb } from './client.ts';
import { createWorld, type Replica, ROUTE, text, type World } from './replicas.ts';

/** Beyond what a stream's log keeps. */
const WORDS = 'x'.repeat(1_000_000);
const BLOCKS = `"content":[{"type":"text","text":"${WORDS}"}]`;

let world: World;
before(async () => {
  world = await createWorld('memory');
});
after(() => world.close());

/** The result as it comes from the link, and whether its own memory has been written to a client. */
function large(t: TestContext, members = BLOCKS, streams = true): { readonly isWritten: () => boolean } {
  const bytes = text(members);
  const written = new Set<unknown>();
  const write = ServerResponse.prototype.write as (...args: unknown[]) => boolean;
  t.mock.method(ServerResponse.prototype, 'write', function (this: ServerResponse, ...args: unknown[]) {
    if (args[0] instanceof Uint8Array) written.add(args[0].buffer);
    return write.apply(this, args);
  });
  world.upstream.answer = async (_exchange, _ask, listener) => {
    if (streams) listener.event('notifications/progress', text('"progress":1'));
    return { kind: 'result', resultType: 'complete', members: bytes };
  };
  return { isWritten: () => written.has(bytes.buffer) };
}

const CALL = call(1, 'large', { progressToken: 't' });

function wordsOf(data: string | undefined): number {
  const { result } = JSON.parse(data ?? '') as { result: { content: { text: string }[] } };
  return result.content[0]?.text.length ?? 0;
}

for (const revision of ['2025-11-25', '2025-06-18', '2025-03-26']) {
  describe(`of ${revision}`, () => {
    test('on the stream of its call it is written as it came', async (t) => {
      const session = await open(world.replicas[0], revision);
      const { isWritten } = large(t);
      const all = await events(await post(world.replicas[0], CALL, { session }));
      assert.equal(wordsOf(all.at(-1)?.data), WORDS.length);
      assert.ok(isWritten());
    });

    test('as JSON it is written as it came', async (t) => {
      const session = await open(world.replicas[0], revision);
      const { isWritten } = large(t);
      const answer = await post(world.replicas[0], CALL, { session, accept: 'application/json' });
      assert.equal(wordsOf(await answer.text()), WORDS.length);
      assert.ok(isWritten());
    });
  });
}

test('in a batch it is written as it came', async (t) => {
  const session = await open(world.replicas[0], '2025-03-26');
  const { isWritten } = large(t, BLOCKS, false);
  const answer = await post(world.replicas[0], [CALL, request(2, 'ping')], { session });
  const all = (await answer.json()) as { id: number }[];
  assert.deepEqual(all.map(({ id }) => id).sort(), [1, 2]);
  assert.ok(isWritten());
});

test('structured content that stays an object does not copy it', async (t) => {
  const session = await open(world.replicas[0]);
  const { isWritten } = large(t, `${BLOCKS},"structuredContent":{"a":1}`);
  await events(await post(world.replicas[0], CALL, { session }));
  assert.ok(isWritten());
});

test('what its revision cannot carry is taken out of it without a copy of the rest', async (t) => {
  const session = await open(world.replicas[0]);
  const members = `"contents":[{"uri":"a:b","text":"${WORDS}"}],"ttlMs":0,"cacheScope":"private"`;
  const { isWritten } = large(t, members);
  const asked = request(1, 'resources/read', { uri: 'a:b', _meta: { progressToken: 't' } });
  const all = await events(await post(world.replicas[0], asked, { session }));
  const { result } = JSON.parse(all.at(-1)?.data ?? '') as { result: object };
  assert.deepEqual(Object.keys(result), ['contents']);
  assert.ok(isWritten());
});

test('on the stream of a 2024-11-05 session, where that is held, it is written as it came', async (t) => {
  const [a] = world.replicas;
  const sse = reader(await verb('GET', a, { path: ROUTE.path.replace('/mcp', '/sse'), accept: 'text/event-stream' }));
  const messages = new URL((await sse.next())?.data ?? '', 'http://gateway.example/');
  const send = (replica: Replica, body: object) => post(replica, body, { path: messages.pathname + messages.search });
  await send(a, greeting('2024-11-05'));
  await sse.next();
  const { isWritten } = large(t, BLOCKS, false);
  await send(a, call(1, 'large'));
  assert.equal(wordsOf((await sse.next())?.data), WORDS.length);
  assert.ok(isWritten());
});
