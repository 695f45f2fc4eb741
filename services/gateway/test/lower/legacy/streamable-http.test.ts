// Does a POST of each legacy revision get exactly the status and body that its pages ask for, whatever its session, its
// method and its id? (protocol.md §3.1, §3.2, §3.5)

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, notification, open, post, request, verb } from './client.ts';
import { a, json, useOneWorld, world } from './one-world.ts';
import { held, result } from './replicas.ts';

useOneWorld();

describe('without a session', () => {
  test('GB-008: a list or call is served, with no capabilities', async () => {
    const answer = await post(a, call(1, 'echo'), { version: '2025-06-18' });
    assert.equal(answer.status, 200);
    assert.equal((await json(answer)).result?.isError, undefined);
    const { exchange } = world.upstream.seen.at(-1)!;
    assert.deepEqual([exchange.revision, exchange.session, exchange.capabilities], ['2025-06-18', null, {}]);
    await (await post(a, request(1, 'tools/list'))).text();
    assert.equal(world.upstream.seen.at(-1)?.exchange.revision, '2025-03-26');
    assert.deepEqual(await json(await post(a, request(2, 'ping'))), { jsonrpc: '2.0', id: 2, result: {} });
  });

  test('GB-008: what needs a session is 400 with a body that says what to send', async () => {
    for (const method of ['logging/setLevel', 'resources/subscribe', 'foo/bar']) {
      const answer = await post(a, request('x', method, { level: 'info', uri: 'a:b' }));
      assert.equal(answer.status, 400);
      const body = await json(answer);
      assert.equal(body.error?.code, -32600);
      assert.match(body.error?.message ?? '', /Mcp-Session-Id/);
      assert.equal(body.id, 'x');
    }
  });

  test('a notification is taken and means nothing', async () => {
    assert.equal((await post(a, notification('notifications/initialized'))).status, 202);
    assert.equal((await post(a, notification('notifications/cancelled', { requestId: 1 }))).status, 202);
  });

  test('an unserved version is 400', async () => {
    const answer = await post(a, request(1, 'tools/list'), { version: '2025-11-25', path: '/acme/other/mcp' });
    assert.equal(answer.status, 400);
  });

  test('GB-054: GET is 405 with Allow, DELETE 400', async () => {
    const got = await verb('GET', a, { accept: 'text/event-stream' });
    assert.equal(got.status, 405);
    assert.equal(got.headers.get('allow'), 'POST');
    assert.equal((await verb('DELETE', a)).status, 400);
  });
});

describe('methods', () => {
  test('unknown, modern-only and not yet known ones are -32601 at 200', async () => {
    const session = await open(a);
    for (const method of ['foo/bar', 'server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/list']) {
      const answer = await post(a, request(1, method, {}), { session });
      assert.equal(answer.status, 200, method);
      assert.equal((await json(answer)).error?.code, -32601, method);
    }
  });

  test('an unknown notification and a stray response are 202', async () => {
    const session = await open(a);
    assert.equal((await post(a, notification('notifications/foo'), { session })).status, 202);
    assert.equal((await post(a, { jsonrpc: '2.0', id: 'lk-1', result: {} }, { session })).status, 202);
    assert.equal((await post(a, notification('notifications/roots/list_changed'), { session })).status, 202);
  });

  test('a bad log level is -32602', async () => {
    const session = await open(a);
    for (const params of [{ level: 'loud' }, { level: 3 }, {}]) {
      const body = await json(await post(a, request(1, 'logging/setLevel', params), { session }));
      assert.equal(body.error?.code, -32602);
    }
  });

  test('inputResponses and requestState of a legacy request go no further; its task is the route’s to judge', async () => {
    const session = await open(a);
    const params = { name: 't', arguments: { n: 1 }, task: { ttl: 1 }, inputResponses: {}, requestState: 's' };
    await (await post(a, request(1, 'tools/call', params), { session })).text();
    assert.equal(world.upstream.seen.at(-1)?.params, '"name":"t","arguments":{"n":1},"task":{"ttl":1}');
  });

  test('GB-095: vendor metadata passes, reserved names and the token do not', async () => {
    const session = await open(a);
    const meta = { progressToken: 7, 'com.example/x': { y: 1 }, 'io.modelcontextprotocol/clientInfo': { name: 'x' } };
    await (await post(a, call(1, 't', meta), { session })).text();
    const { ask } = world.upstream.seen.at(-1)!;
    assert.equal(ask.meta, '"com.example/x":{"y":1}');
    assert.equal(ask.progress, true);
    assert.equal(ask.paramHeaders, undefined);
  });

  test('GB-129: a cursor is forwarded as it came', async () => {
    const session = await open(a);
    await (await post(a, request(1, 'tools/list', { cursor: '' }), { session })).text();
    assert.equal(world.upstream.seen.at(-1)?.params, '"cursor":""');
  });
});

describe('ids', () => {
  const IDS = [
    '0',
    '1',
    '"0"',
    '"1"',
    '"req-abc"',
    '""',
    '"01"',
    '-5',
    '2147483648',
    '12345678901234567890',
    '"\\u00e9"',
  ];
  for (const id of IDS) {
    test(`GB-080: ${id} comes back with its type and text`, async () => {
      const session = await open(a);
      const bodies = [
        `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo"}}`,
        `{"jsonrpc":"2.0","id":${id},"method":"no/such"}`,
      ];
      for (const body of bodies) {
        const got = await (await post(a, body, { session })).text();
        assert.ok(got.startsWith(`{"jsonrpc":"2.0","id":${id},`), got);
      }
      const unknown = await (await post(a, bodies[0], { session: 'C'.repeat(43) })).text();
      assert.ok(unknown.includes(`"id":${id},`), unknown);
      const streamed = await (await post(a, bodies[1], { session, accept: 'text/event-stream' })).text();
      assert.ok(streamed.includes(`"id":${id},`), streamed);
    });
  }

  test('GB-078: two calls under one id each get their own answer', async () => {
    const session = await open(a);
    const slow = held();
    const quick = world.upstream.answer;
    world.upstream.answer = (e, ask, l) => (ask.name === 'slow' ? slow.answer(e, ask, l) : quick(e, ask, l));
    const first = post(a, call(1, 'slow'), { session });
    await slow.started;
    const second = await json(await post(a, call(1, 'fast'), { session }));
    assert.deepEqual(second.result?.content, [{ type: 'text', text: 'fast' }]);
    slow.release(result('"content":[{"type":"text","text":"slow"}]'));
    assert.deepEqual((await json(await first)).result?.content, [{ type: 'text', text: 'slow' }]);
  });

  test('the id of an error about no readable request is null before 2025-11-25 and left out after', async () => {
    const body = '[{"jsonrpc":"2.0","id":1,"method":"ping"}]';
    const older = await json(await post(a, body, { session: await open(a, '2025-06-18') }));
    assert.equal(older.id, null);
    const newer = await json(await post(a, body, { session: await open(a, '2025-11-25') }));
    assert.equal('id' in newer, false);
  });
});
