// How is a modern server by URL spoken to? (protocol.md §2.2, §2.3, §4.3)

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import {
  createSession,
  event,
  events,
  json,
  META,
  result,
  type Script,
  type SessionStage,
  type StageOptions,
} from '../session-stage.ts';

describe('how a modern server is reached', () => {
  let stage: SessionStage | null = null;
  const open = async (script: Script, options?: StageOptions): Promise<SessionStage> => {
    stage = await createSession('modern', script, options);
    return stage;
  };
  const call = (id: number, name = 'add', args: object = {}) => ({
    id,
    method: 'tools/call',
    params: { _meta: META, name, arguments: args },
  });

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  it('one POST a request, its headers made from its body, and no session (§2.2)', async () => {
    const s = await open(({ message }, response) => json(response, result(message.id)));
    s.sends(call(1, 'naïve tool'));
    s.sends({ id: 2, method: 'resources/read', params: { _meta: META, uri: 'file:///a' } });
    s.sends({ id: 3, method: 'tools/list', params: { _meta: META } });
    assert.equal((await s.answerTo(1)).of, 1);
    await Promise.all([s.answerTo(2), s.answerTo(3)]);
    const headers = (method: string) => s.toldOf(method)[0]!.headers;
    const own = headers('tools/call');
    assert.equal(own['content-type'], 'application/json');
    assert.equal(own.accept, 'application/json, text/event-stream');
    assert.equal(own['mcp-protocol-version'], '2026-07-28');
    assert.equal(own['mcp-method'], 'tools/call');
    assert.equal(own['mcp-name'], `=?base64?${Buffer.from('naïve tool').toString('base64')}?=`);
    assert.equal(headers('resources/read')['mcp-name'], 'file:///a');
    assert.equal(headers('tools/list')['mcp-name'], undefined);
    assert.ok(s.told.every(({ verb, headers: all }) => verb === 'POST' && all['mcp-session-id'] === undefined));
  });

  const TOOLS = [
    {
      name: 'query',
      inputSchema: {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          limit: { type: 'integer', 'x-mcp-header': 'Limit' },
          note: { type: 'string' },
        },
      },
    },
    { name: 'bad', inputSchema: { type: 'object', properties: { x: { type: 'number', 'x-mcp-header': 'X' } } } },
  ];

  it('arguments are mirrored as the last tool list that passed says (§2.3)', async () => {
    const s = await open(({ message }, response) =>
      json(response, result(message.id, message.method === 'tools/list' ? { tools: TOOLS } : {})),
    );
    s.sends(call(1, 'query', { region: 'eu' }));
    await s.answerTo(1);
    s.sends({ id: 2, method: 'tools/list', params: { _meta: META } });
    await s.answerTo(2);
    s.sends(call(3, 'query', { region: 'Zürich', limit: 5, note: 'n' }));
    s.sends(call(4, 'bad', { x: 1.5 }));
    await Promise.all([s.answerTo(3), s.answerTo(4)]);
    const [before, after, bad] = s.toldOf('tools/call').map(({ headers }) => headers);
    assert.equal(before!['mcp-param-region'], undefined);
    assert.equal(after!['mcp-param-region'], `=?base64?${Buffer.from('Zürich').toString('base64')}?=`);
    assert.equal(after!['mcp-param-limit'], '5');
    assert.equal(after!['mcp-param-note'], undefined);
    assert.equal(bad!['mcp-param-x'], undefined);
  });

  it('a stream: everything on it is told as that request’s, and its rest is nobody’s', async () => {
    const s = await open(({ message }, response) => {
      events(response);
      response.write(': hold on\n\n');
      response.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1 } }));
      response.write(event(result(message.id)));
      response.end(event({ jsonrpc: '2.0', method: 'notifications/message', params: {} }));
    });
    s.sends(call(7));
    await s.answerTo(7);
    assert.deepEqual(
      s.heard.map(({ message, of }) => [message.method ?? 'answer', of]),
      [
        ['notifications/progress', 7],
        ['answer', 7],
      ],
    );
  });

  it('unknown fields and odd numbers pass byte for byte; raw line breaks become blanks', async () => {
    const body = '{"jsonrpc":"2.0",\n "id":1,\r\n "result":{"x":1.0e+2,"n":12345678901234567890,"s":"\\u0041ж","x":1}}';
    const s = await open((_told, response) => json(response, body));
    s.sends(call(1));
    assert.equal((await s.answerTo(1)).text, body.replaceAll('\n', ' ').replaceAll('\r', ' '));
  });

  it('a byte order mark before JSON is nothing, and types are compared as HTTP does', async () => {
    const s = await open(({ message }, response) => {
      const type = message.id === 1 ? 'Application/JSON; charset=utf-8' : 'Text/Event-Stream;x=y';
      response.writeHead(200, { 'content-type': type });
      response.end(message.id === 1 ? `\ufeff${JSON.stringify(result(1))}` : event(result(2)));
    });
    s.sends(call(1));
    s.sends(call(2));
    await Promise.all([s.answerTo(1), s.answerTo(2)]);
  });

  it('cancelled: the reply is let go, and nothing is sent (§4.3 "Cancel")', async () => {
    const s = await open((_told, response) => events(response));
    s.sends(call(1));
    await eventually(() => s.told.length === 1);
    s.sends({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'no more' } });
    await s.told[0]!.aborted;
    s.child.forget?.(1);
    assert.equal(s.told.length, 1);
    assert.deepEqual(s.failures, []);
  });

  it('forgotten: the same', async () => {
    const s = await open(() => {});
    s.sends(call(1));
    await eventually(() => s.told.length === 1);
    s.child.forget?.(1);
    await s.told[0]!.aborted;
  });

  const unanswered: readonly (readonly [string, Script, object])[] = [
    [
      'a stream that ends without the answer',
      (_t, response) => {
        events(response);
        response.end(event({ jsonrpc: '2.0', method: 'notifications/message', params: {} }, 'e1'));
      },
      { kind: 'lost', mayHaveRun: true },
    ],
    [
      'a stream that breaks',
      (_t, response) => {
        events(response);
        setImmediate(() => response.destroy());
      },
      { kind: 'lost', mayHaveRun: true },
    ],
    ['a connection that breaks', (_t, response) => void response.destroy(), { kind: 'lost', mayHaveRun: true }],
    ['202', (_t, response) => void response.writeHead(202).end(), { kind: 'protocol', mayHaveRun: true }],
    [
      'a page',
      (_t, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<b>secret</b>'),
      { kind: 'protocol', mayHaveRun: true, words: 'it answered with text/html, not with JSON or an event stream' },
    ],
    ['no type', (_t, response) => void response.writeHead(200).end('{}'), { kind: 'protocol', mayHaveRun: true }],
    ['no JSON', (_t, response) => json(response, '{"jsonrpc":'), { kind: 'protocol', mayHaveRun: true }],
    ['no answer', (_t, response) => json(response, { jsonrpc: '2.0' }), { kind: 'protocol', mayHaveRun: true }],
    ['another id', (_t, response) => json(response, result(99)), { kind: 'protocol', mayHaveRun: true }],
    [
      '401, whatever it says',
      ({ message }, response) =>
        json(response, { jsonrpc: '2.0', id: message.id, error: { code: -32001, message: 'sign in at evil' } }, 401, {
          'www-authenticate': 'Bearer resource_metadata="https://evil"',
        }),
      { kind: 'denied', mayHaveRun: false, status: 401 },
    ],
    [
      '429',
      (_t, response) => void response.writeHead(429, { 'retry-after': '3' }).end(),
      { kind: 'busy', mayHaveRun: false, retryAfterMs: 3000 },
    ],
    [
      '500 with a page',
      (_t, response) => void response.writeHead(500, { 'content-type': 'text/html' }).end('<b>stack</b>'),
      { kind: 'lost', mayHaveRun: true, words: 'it answered with HTTP 500 (it failed)' },
    ],
  ];
  for (const [what, script, expected] of unanswered) {
    it(`${what}: told as a failure of that request alone`, async () => {
      const s = await open(script);
      s.sends(call(1));
      const failure = (await s.failureOf(1)) as unknown as Record<string, unknown>;
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(failure[key], value, key);
      assert.equal(s.child.exited, null);
    });
  }

  it('nobody there: nothing was sent, and the session lives on', async () => {
    const s = await open(() => {}, { http: { url: 'http://127.0.0.1:1/mcp' } });
    s.sends(call(1));
    const failure = await s.failureOf(1);
    assert.deepEqual([failure.kind, failure.mayHaveRun], ['unreachable', false]);
    assert.equal(s.child.exited, null);
  });

  const errors: readonly (readonly [string, number, unknown])[] = [
    ['400 with an error', 400, 1],
    ['404 with an error', 404, 1],
    ['500 with an error (GB-096)', 500, 1],
    ['400 with an error that names nobody', 400, null],
    ['200 with an error that names nobody', 200, null],
  ];
  for (const [what, status, id] of errors) {
    it(`${what}: the error is the answer`, async () => {
      const error = { code: -32020, message: 'headers', data: { x: 1 } };
      const s = await open((_told, response) => json(response, { jsonrpc: '2.0', id, error }, status));
      s.sends(call(1));
      const { message, of } = await s.answerTo(1);
      assert.deepEqual([message.error, of], [error, 1]);
    });
  }

  const older: readonly (readonly [string, Script])[] = [
    ['without a body', (_t, response) => void response.writeHead(404).end()],
    [
      'with an error of older transports',
      (_t, response) =>
        json(response, { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session ID' } }, 400),
    ],
  ];
  for (const [what, refuses] of older) {
    it(`refused ${what}, and so is server/discover: it is modern no more, and its connection ends (§4.2)`, async () => {
      const s = await open(refuses);
      s.sends(call(1));
      const { kind, mayHaveRun } = await s.failureOf(1);
      assert.deepEqual([kind, mayHaveRun, (await s.ended()).kind], ['session', false, 'session-ended']);
      const { message, headers } = s.toldOf('server/discover')[0]!;
      assert.deepEqual([message.params._meta, headers['mcp-method']], [META, 'server/discover']);
    });

    it(`refused ${what}, while server/discover is answered: that request alone has failed`, async () => {
      const s = await open((told, response) => {
        if (told.message.method !== 'server/discover') return refuses(told, response);
        json(response, result(told.message.id, { supportedVersions: ['2026-07-28'] }));
      });
      s.sends(call(1));
      await eventually(() => s.heard.length + s.failures.length === 1);
      assert.equal(s.child.exited, null);
    });
  }

  it('an answer over the cap fails its request: as JSON, as an event, as an event without end', async () => {
    const large = 'x'.repeat(20_000);
    const s = await open(
      ({ message }, response) => {
        if (message.id === 1) return json(response, result(1, { large }));
        events(response);
        response.write(message.id === 2 ? event(result(2, { large })) : `data: ${large}`);
      },
      { maxLineBytes: 10_000 },
    );
    for (const id of [1, 2, 3]) s.sends(call(id));
    for (const id of [1, 2, 3]) assert.equal((await s.failureOf(id)).kind, 'too-large', `request ${id}`);
  });

  it('while it is paused nothing more is heard', async () => {
    const { promise: written, resolve } = Promise.withResolvers<void>();
    let goOn = () => {};
    const s = await open(({ message }, response) => {
      events(response);
      response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: {} }));
      goOn = () => response.end(event(result(message.id)), resolve);
    });
    s.sends(call(1));
    await eventually(() => s.heard.length === 1);
    s.child.pause();
    goOn();
    await written;
    await new Promise((settled) => setImmediate(settled));
    assert.equal(s.heard.length, 1);
    s.child.resume();
    await s.answerTo(1);
  });

  it('beyond its connections it takes no more, until one is free', async () => {
    const waiting: (() => void)[] = [];
    const s = await open(
      ({ message }, response) => {
        waiting.push(() => json(response, result(message.id)));
      },
      { http: { maxConnections: 4 } },
    );
    s.sends(call(1));
    assert.equal(s.child.takes(1), true);
    s.sends(call(2));
    assert.equal(s.child.takes(1), false);
    await eventually(() => waiting.length === 2);
    waiting[0]!();
    await eventually(() => s.child.takes(1));
  });

  it('a listen stands in nobody’s way', async () => {
    const s = await open((_told, response) => events(response), { http: { maxConnections: 4 } });
    for (const id of [1, 2, 3])
      s.sends({ id, method: 'subscriptions/listen', params: { _meta: META, notifications: {} } });
    assert.equal(s.child.takes(1), true);
  });

  it('stopped: what runs is let go, and its end is told once', async () => {
    const s = await open((_told, response) => events(response));
    s.sends(call(1));
    await eventually(() => s.told.length === 1);
    await s.child.stop('enough');
    await s.child.stop('again');
    await s.told[0]!.aborted;
    assert.deepEqual((await s.ended()).words, 'enough');
    assert.equal(s.exits.length, 1);
    assert.equal(s.sends(call(2)), false);
  });
});
