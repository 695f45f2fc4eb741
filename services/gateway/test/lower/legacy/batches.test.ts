// What does a 2025-03-26 batch get, and who else may send one? (protocol.md §3.6, Part 7 #17)

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, events, greeting, notification, open, post, request } from './client.ts';
import { createUpstream, createWorld, held, result, text, type World } from './replicas.ts';

let world: World;
let session: string;
before(async () => {
  world = await createWorld('memory');
  session = await open(world.replicas[0], '2025-03-26');
});
after(() => world.close());

const send = (body: unknown, s = session) => post(world.replicas[0], body, { session: s });

test('requests are answered in one array, in the order in which they end', async () => {
  const slow = held();
  const quick = createUpstream().answer;
  world.upstream.answer = (e, ask, l) => (ask.name === 'slow' ? slow.answer(e, ask, l) : quick(e, ask, l));
  const reply = post(
    world.replicas[0],
    [call(1, 'slow'), notification('notifications/x'), call('1', 'fast'), request(2, 'ping')],
    {
      session,
      accept: 'application/json',
    },
  );
  await slow.started;
  slow.release(result('"content":[]'));
  const answer = await reply;
  assert.equal(answer.status, 200);
  const body = (await answer.json()) as { id: unknown }[];
  assert.deepEqual(new Set(body.map((r) => r.id)), new Set([1, '1', 2]));
  assert.equal(body.at(-1)?.id, 1);
  const xids = world.upstream.seen.slice(-2).map((s) => s.exchange.xid);
  assert.notEqual(xids[0], xids[1]);
});

test('an event turns the reply into a stream that carries all responses', async () => {
  world.upstream.answer = async (_exchange, ask, listener) => {
    if (ask.progress) listener.event('notifications/progress', text('"progress":1'));
    return result('"content":[]');
  };
  const answer = await send([call(1, 'a'), call(2, 'b', { progressToken: 9 })]);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const got = (await events(answer)).map((e) => JSON.parse(e.data!) as { id?: number; method?: string });
  assert.deepEqual(new Set(got.map((m) => m.id ?? m.method)), new Set(['notifications/progress', 1, 2]));
});

test('notifications alone, and responses alone, are 202', async () => {
  assert.equal((await send([notification('notifications/initialized'), notification('notifications/x')])).status, 202);
  assert.equal(
    (
      await send([
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: 2, result: {} },
      ])
    ).status,
    202,
  );
});

const REFUSED: readonly [id: string, body: unknown][] = [
  ['an empty one', []],
  ['requests beside responses', [request(1, 'ping'), { jsonrpc: '2.0', id: 2, result: {} }]],
  ['the same id twice', [request(1, 'ping'), request(1, 'ping')]],
  ['initialize inside', [greeting('2025-03-26'), request(2, 'ping')]],
  ['more than limits.maxBatch', [1, 2, 3, 4, 5, 6].map((id) => request(id, 'ping'))],
  ['an element that is no message', [1]],
];
for (const [id, body] of REFUSED) {
  test(`${id}: 400, -32600`, async () => {
    const answer = await send(body);
    assert.equal(answer.status, 400);
    assert.equal(((await answer.json()) as { error: { code: number } }).error.code, -32600);
  });
}

for (const revision of ['2024-11-05', '2025-06-18', '2025-11-25']) {
  test(`in a session of ${revision} an array is 400, -32600`, async () => {
    const answer = await send([request(1, 'ping')], await open(world.replicas[0], revision));
    assert.equal(answer.status, 400);
    assert.equal(((await answer.json()) as { error: { code: number } }).error.code, -32600);
  });
}

test('a slow element may be cancelled while the others are answered', async () => {
  const slow = held();
  const quick = createUpstream().answer;
  world.upstream.answer = (e, ask, l) => (ask.name === 'slow' ? slow.answer(e, ask, l) : quick(e, ask, l));
  const reply = post(world.replicas[0], [call(1, 'slow'), call(2, 'fast')], { session, accept: 'application/json' });
  await slow.started;
  assert.equal((await send(notification('notifications/cancelled', { requestId: 1 }))).status, 202);
  const body = (await (await reply).json()) as { id: unknown }[];
  assert.deepEqual(
    body.map((r) => r.id),
    [2],
  );
});
