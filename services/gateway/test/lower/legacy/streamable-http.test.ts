// Does a POST of each legacy revision get exactly the status, form and body that its pages ask for? (protocol.md §3.1,
// §3.2, §3.5)

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { BOTH, call, events, greeting, notification, open, post, reader, request, verb } from './client.ts';
import { createUpstream, createWorld, held, type Replica, result, text, type World } from './replicas.ts';

let world: World;
let a: Replica;
before(async () => {
  world = await createWorld('memory');
  a = world.replicas[0];
});
after(() => world.close());
afterEach(() => {
  const fresh = createUpstream();
  world.upstream.answer = fresh.answer;
  world.upstream.info = fresh.info;
});

interface Rpc {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const json = async (response: Response) => (await response.json()) as Rpc;

describe('initialize', () => {
  const OFFERS: readonly [offered: string, path: string | undefined, agreed: string][] = [
    ['2025-11-25', undefined, '2025-11-25'],
    ['2025-06-18', undefined, '2025-06-18'],
    ['2025-03-26', undefined, '2025-03-26'],
    ['2024-11-05', undefined, '2024-11-05'],
    ['2026-07-28', undefined, '2025-11-25'],
    ['1999-01-01', undefined, '2025-11-25'],
    ['2025-11-25', '/acme/other/mcp', '2025-06-18'],
    ['2024-11-05', '/acme/other/mcp', '2025-06-18'],
  ];
  for (const [offered, path, agreed] of OFFERS) {
    test(`offered ${offered}${path === undefined ? '' : ' on a narrower route'}: ${agreed} is agreed`, async () => {
      const answer = await post(a, greeting(offered), path === undefined ? {} : { path });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('mcp-session-id') ?? '', /^[A-Za-z0-9_-]{43}$/);
      assert.equal((await json(answer)).result?.protocolVersion, agreed);
    });
  }

  test('the result holds only what the revision knows', async () => {
    const newest = (await json(await post(a, greeting('2025-11-25')))).result;
    assert.deepEqual(newest, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true }, logging: {}, completions: {}, resources: { subscribe: true } },
      serverInfo: { name: 'lockkeeper', version: '1.2.3', title: 'Lockkeeper', websiteUrl: 'https://x.example' },
      instructions: 'Mind the gap.',
    });
    const oldest = (await json(await post(a, greeting('2024-11-05')))).result;
    assert.deepEqual(oldest?.capabilities, {
      tools: { listChanged: true },
      logging: {},
      resources: { subscribe: true },
    });
    assert.deepEqual(oldest?.serverInfo, { name: 'lockkeeper', version: '1.2.3' });
  });

  test('what the client declared reaches the walk, cut to the revision', async () => {
    const declared = {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {} },
      roots: { listChanged: true },
      tasks: {},
    };
    for (const [revision, capabilities] of [
      ['2025-11-25', { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } }],
      ['2025-06-18', { elicitation: {}, sampling: {}, roots: { listChanged: true } }],
      ['2025-03-26', { sampling: {}, roots: { listChanged: true } }],
    ] as const) {
      const session = await open(a, revision, declared);
      await (await post(a, call(1, 'echo'), { session })).text();
      assert.deepEqual(world.upstream.seen.at(-1)?.exchange.capabilities, capabilities);
    }
  });

  const BAD: readonly [id: string, params: unknown][] = [
    ['no version', { capabilities: {} }],
    ['a version that is no string', { protocolVersion: 1, capabilities: {} }],
    ['capabilities that are no object', { protocolVersion: '2025-11-25', capabilities: [] }],
    [
      'capabilities that are a load',
      { protocolVersion: '2025-11-25', capabilities: { experimental: { x: { y: 'z'.repeat(40_000) } } } },
    ],
  ];
  for (const [id, params] of BAD) {
    test(`${id} is -32602, and no session comes to be`, async () => {
      const answer = await post(a, request('i', 'initialize', params));
      assert.equal(answer.headers.get('mcp-session-id'), null);
      const body = await json(answer);
      assert.equal(body.error?.code, -32602);
      assert.equal(body.id, 'i');
    });
  }

  test('with a modern version header it is contradictory: 400, -32020', async () => {
    const answer = await post(a, greeting(), { version: '2026-07-28' });
    assert.equal(answer.status, 400);
    assert.equal((await json(answer)).error?.code, -32020);
  });

  test('a server that does not start is said in the reply, and no session comes to be', async () => {
    const message = 'server everything could not be started: exit code 3';
    world.upstream.info = { kind: 'refusal', refusal: { reason: 'start-failed', message } };
    const answer = await post(a, greeting());
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('mcp-session-id'), null);
    const body = await json(answer);
    assert.equal(body.error?.code, 10003);
    assert.match(body.error?.message ?? '', /could not be started: exit code 3/);
  });
});

describe('the version header', () => {
  const ROWS: readonly [session: string, header: string | undefined, status: number][] = [
    ['2025-11-25', undefined, 200],
    ['2025-11-25', '2025-11-25', 200],
    ['2025-11-25', '2025-06-18', 400],
    ['2025-11-25', 'yesterday', 400],
    ['2025-06-18', '2025-06-18', 200],
    ['2025-06-18', '2025-11-25', 400],
    ['2025-03-26', 'anything', 200],
    ['2024-11-05', undefined, 200],
  ];
  for (const [revision, header, status] of ROWS) {
    test(`${header ?? 'none'} in a session of ${revision}: ${status}`, async () => {
      const session = await open(a, revision);
      const answer = await post(a, request(1, 'ping'), {
        session,
        ...(header === undefined ? {} : { version: header }),
      });
      assert.equal(answer.status, status);
      const body = await json(answer);
      assert.equal(body.id, 1);
      if (status === 400) assert.equal(body.error?.code, -32600);
    });
  }
});

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

describe('the form of the reply', () => {
  const ACCEPTS: readonly [accept: string, status: number, type: string][] = [
    [BOTH, 200, 'application/json'],
    ['*/*', 200, 'application/json'],
    ['application/json', 200, 'application/json'],
    ['APPLICATION/JSON', 200, 'application/json'],
    ['application/json;q=0.9, text/event-stream;q=0.1', 200, 'application/json'],
    ['text/event-stream', 200, 'text/event-stream'],
    ['text/html', 406, 'application/json'],
    ['application/json;q=0', 406, 'application/json'],
  ];
  for (const [accept, status, type] of ACCEPTS) {
    test(`GB-147: Accept ${accept}: ${status} ${type}`, async () => {
      const session = await open(a);
      const answer = await post(a, call(1, 'echo'), { session, accept });
      assert.equal(answer.status, status);
      assert.ok(answer.headers.get('content-type')?.startsWith(type));
      await answer.text();
    });
  }

  const progress = (n: number) => text(`"progress":${n}`);

  test('events come on the call’s own stream with the client’s token, then the response', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, _ask, listener) => {
      listener.event('notifications/progress', progress(1));
      listener.event('notifications/message', text('"level":"info","data":1'));
      listener.event('notifications/progress', progress(2));
      return result('"content":[]');
    };
    const answer = await post(a, call('c', 't', { progressToken: '1' }), { session });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    const got = (await events(answer)).map((e) => JSON.parse(e.data!) as unknown);
    const note = (n: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: '1', progress: n },
    });
    assert.deepEqual(got, [note(1), note(2), { jsonrpc: '2.0', id: 'c', result: { content: [] } }]);
  });

  test('GB-084: without a token nothing streams', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, _ask, listener) => {
      listener.event('notifications/progress', progress(1));
      return result('"content":[]');
    };
    const answer = await post(a, call(1, 't'), { session });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    await answer.text();
  });

  test('a client that takes only JSON gets only the response', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, ask, listener) => {
      listener.event('notifications/progress', progress(1));
      return result(`"content":[{"type":"text","text":"${ask.progress}"}]`);
    };
    const body = await json(await post(a, call(1, 't', { progressToken: 1 }), { session, accept: 'application/json' }));
    assert.deepEqual(body.result?.content, [{ type: 'text', text: 'false' }]);
  });

  test('GB-075: a slow call becomes a stream before it is answered', async () => {
    const session = await open(a);
    const slow = held();
    world.upstream.answer = slow.answer;
    const answer = await post(a, call(1, 'slow'), { session });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    slow.release(result('"content":[]'));
    assert.deepEqual(
      (await events(answer)).map((e) => JSON.parse(e.data!) as unknown),
      [{ jsonrpc: '2.0', id: 1, result: { content: [] } }],
    );
  });

  test('a disconnect is not a cancel: the call goes on', async () => {
    const session = await open(a);
    const slow = held();
    world.upstream.answer = slow.answer;
    const leaving = new AbortController();
    const gone = post(a, call(1, 'slow'), { session }, leaving.signal);
    await slow.started;
    const { exchange } = world.upstream.seen.at(-1)!;
    leaving.abort();
    await assert.rejects(gone);
    // Another request on the same replica is served after the socket's end has been seen.
    await (await post(a, request(2, 'ping'), { session })).text();
    assert.equal(exchange.signal.aborted, false);
    slow.release(result('"content":[]'));
  });

  test('the standalone stream is primed for 2025-11-25 only', async () => {
    for (const [revision, primed] of [
      ['2025-11-25', true],
      ['2025-06-18', false],
    ] as const) {
      const session = await open(a, revision);
      const stop = new AbortController();
      const stream = await verb('GET', a, { session, accept: 'text/event-stream' }, stop.signal);
      const heard = reader(stream);
      if (primed) {
        const first = await heard.next();
        assert.equal(first?.data, '');
        assert.match(first?.id ?? '', /^g[0-9a-f]{16}-0-0$/);
        assert.equal(first?.retry, '1000');
      }
      assert.equal((await verb('DELETE', a, { session })).status, 204);
      assert.equal(await heard.next(), null);
    }
  });

  test('GET for something else than a stream is 406', async () => {
    const session = await open(a);
    assert.equal((await verb('GET', a, { session, accept: 'text/html' })).status, 406);
  });
});
