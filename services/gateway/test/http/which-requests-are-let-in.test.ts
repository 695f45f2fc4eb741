// Paths, verbs, pages and eras at the door (protocol.md §2.1 #1–#2a, #8–#11, §3.1; auth-security.md RS-10, T-46).

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { classify } from '../../src/era/classify.ts';
import { modernParts, type Rig, routeOf, send, sendModern, snapshotOf, startRig } from './rig.ts';

let rig: Rig;
before(async () => {
  rig = await startRig();
});
beforeEach(() => {
  rig.snapshot = snapshotOf();
  rig.legacy.length = 0;
});
after(() => rig.close());

const JSON_TYPE = 'Content-Type: application/json';
const MCP = '/acme/everything/mcp';
const legacyList = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

const NO_PATHS = [
  '/',
  '/mcp',
  '/acme',
  '/acme/mcp',
  '/ACME/everything/mcp',
  '/acme/everything/mcp//',
  '//acme/everything/mcp',
  '/acme/./everything/mcp',
  '/acme/x/../everything/mcp',
  '/acme%2feverything/mcp',
  '/acme/everything/mcp;x',
  '/acme/everything/mcp.',
  '/acme/everything/mcp/%',
  '/%',
  '/acme/modern/sse',
  '/acme/modern/messages',
  '/livez',
  '/metrics',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server/acme/everything/mcp',
  `${MCP}/.well-known/oauth-protected-resource`,
];
for (const path of NO_PATHS) {
  test(`T-46: there is nothing at ${path}, and it is said in the same words`, async () => {
    const replies = [
      await send(rig.port, `POST ${path}`, [JSON_TYPE], legacyList),
      await send(rig.port, `GET ${path}`, []),
    ];
    for (const reply of replies) {
      assert.equal(reply.status, 404);
      assert.equal(
        reply.body,
        '{"error":"not_found","message":"There is nothing at this path. Check the URL against the route."}',
      );
      assert.equal(reply.headers.get('content-type'), 'application/json');
    }
  });
}

const VERBS: readonly [string, string, number, string | undefined][] = [
  ['GET', '/acme/modern/mcp', 405, 'POST'],
  ['DELETE', '/acme/modern/mcp', 405, 'POST'],
  ['PUT', MCP, 405, 'GET, POST, DELETE'],
  ['PATCH', MCP, 405, 'GET, POST, DELETE'],
  ['HEAD', MCP, 405, 'GET, POST, DELETE'],
  ['OPTIONS', MCP, 405, 'GET, POST, DELETE'],
  ['PROPFIND', MCP, 405, 'GET, POST, DELETE'],
  ['POST', '/acme/everything/sse', 405, 'GET'],
  ['GET', '/acme/everything/messages', 405, 'POST'],
  ['GET', MCP, 200, undefined],
  ['DELETE', MCP, 200, undefined],
  ['GET', '/acme/everything/sse', 200, undefined],
];
for (const [verb, path, status, allow] of VERBS) {
  test(`GB-054: ${verb} ${path} is ${status}`, async () => {
    const reply = await send(rig.port, `${verb} ${path}`, []);
    assert.deepEqual([reply.status, reply.headers.get('allow')], [status, allow]);
    // Not a verb by name: which one it would be depends on the path.
    if (status === 405 && verb !== 'HEAD') assert.doesNotMatch(reply.body, /GET|POST|DELETE/);
  });
}

test('a reload counts with the next request', async () => {
  assert.equal((await sendModern(rig.port, { path: '/mcp' })).status, 404);
  rig.snapshot = snapshotOf({ routes: [routeOf('/mcp')] });
  assert.equal((await sendModern(rig.port, { path: '/mcp' })).status, 200);
  assert.equal((await sendModern(rig.port)).status, 404);
  assert.equal((await send(rig.port, 'GET /sse', [])).status, 200);
});

interface Era {
  readonly says: string;
  readonly lines?: readonly string[];
  readonly body: string;
  /** The legacy leg's method, or the status of the refusal with its code. */
  readonly to: 'post' | readonly [number, number];
  readonly path?: string;
}
const init =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}';
const answerText = '{"jsonrpc":"2.0","id":5,"result":{}}';
const modernOne = modernParts().body;
const ERAS: readonly Era[] = [
  { says: 'initialize without an envelope', body: init, to: 'post' },
  { says: 'initialize under a legacy header', lines: ['MCP-Protocol-Version: 2025-06-18'], body: init, to: 'post' },
  { says: 'a request with neither session nor envelope (GB-008)', body: legacyList, to: 'post' },
  { says: 'a request of a session', lines: ['Mcp-Session-Id: s'], body: legacyList, to: 'post' },
  {
    says: 'a notification of a session',
    lines: ['Mcp-Session-Id: s'],
    body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    to: 'post',
  },
  { says: 'a response of a session', lines: ['Mcp-Session-Id: s'], body: answerText, to: 'post' },
  {
    says: 'an error response without an id',
    lines: ['Mcp-Session-Id: s'],
    body: '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
    to: 'post',
  },
  { says: 'a response of no session', body: answerText, to: [400, -32600] },
  {
    says: 'a response under a modern header',
    lines: ['Mcp-Session-Id: s', 'MCP-Protocol-Version: 2026-07-28'],
    body: answerText,
    to: [400, -32600],
  },
  { says: 'a batch', body: `[${legacyList},{"jsonrpc":"2.0","method":"notifications/x"}]`, to: 'post' },
  { says: 'a batch on a modern-only route', path: '/acme/modern/mcp', body: `[${legacyList}]`, to: [400, -32600] },
  {
    says: 'a batch under a modern header',
    lines: ['MCP-Protocol-Version: 2026-07-28'],
    body: `[${legacyList}]`,
    to: [400, -32600],
  },
  { says: 'a batch with a modern element', body: `[${legacyList},${modernOne}]`, to: [400, -32600] },
  { says: 'a batch with an element that is no message', body: `[${legacyList},5]`, to: [400, -32600] },
  { says: 'an empty batch', body: '[]', to: [400, -32600] },
  { says: 'a batch over limits.maxBatch', body: `[${Array(5).fill(legacyList).join(',')}]`, to: [400, -32600] },
  {
    says: 'a request under a modern header without an envelope',
    lines: ['MCP-Protocol-Version: 2026-07-28'],
    body: legacyList,
    to: [400, -32602],
  },
  { says: 'a legacy request on a modern-only route', path: '/acme/modern/mcp', body: legacyList, to: [400, -32020] },
  { says: 'initialize on a modern-only route', path: '/acme/modern/mcp', body: init, to: [400, -32020] },
  { says: 'an envelope without a header', body: modernOne, to: [400, -32020] },
  { says: 'an envelope within a session', lines: ['Mcp-Session-Id: s'], body: modernOne, to: [400, -32020] },
];
for (const { says, lines = [], body, to, path } of ERAS) {
  test(`era: ${says} → ${to === 'post' ? 'the legacy leg' : to.join(' ')}`, async () => {
    const reply = await send(rig.port, `POST ${path ?? MCP}`, [JSON_TYPE, ...lines], body);
    if (to === 'post') {
      assert.deepEqual([reply.status, rig.legacy.map((c) => c.what)], [200, ['post']]);
      return;
    }
    const error = (JSON.parse(reply.body) as { error: { code: number } }).error;
    assert.deepEqual([reply.status, error.code, rig.legacy.length], [to[0], to[1], 0]);
  });
}

test('Part 7 #5: the error of an unreadable body has id null for revisions up to 2025-06-18 only', async () => {
  const bodyFor = async (version: string) =>
    JSON.parse(
      (await send(rig.port, `POST ${MCP}`, [JSON_TYPE, `MCP-Protocol-Version: ${version}`], '{')).body,
    ) as object;
  assert.equal('id' in (await bodyFor('2025-06-18')), true);
  assert.equal('id' in (await bodyFor('2025-11-25')), false);
  assert.equal('id' in (await bodyFor('2026-07-28')), false);
});

test('messages of HTTP+SSE go to their session, in the legacy reading, envelope or not', async () => {
  const reply = await send(rig.port, 'POST /acme/everything/messages?sessionId=a%20b', [JSON_TYPE], legacyList);
  assert.equal(reply.status, 200);
  assert.deepEqual(
    rig.legacy.map((c) => [c.what, c.sessionId, c.body?.kind]),
    [['ssePost', 'a b', 'single']],
  );
  assert.equal((await send(rig.port, 'POST /acme/everything/messages?sessionId=x', [JSON_TYPE], '{')).status, 400);
});

test('located parts point at the bytes as they came', () => {
  const text = '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n","arguments":{"x":1.0}}}';
  const bytes = Buffer.from(text);
  const found = classify(bytes, {}, routeOf('/mcp'), { maxDepth: 16, maxBatch: 4 });
  assert.ok(found.kind === 'legacy' && found.body.kind === 'single');
  const { message } = found.body;
  assert.deepEqual(
    message.params.map((m) => [m.key, text.slice(m.start, m.end)]),
    [
      ['name', '"n"'],
      ['arguments', '{"x":1.0}'],
    ],
  );
  assert.deepEqual([message.kind, message.method, message.id, message.idText], ['request', 'tools/call', 'a', '"a"']);
});

const HOSTS: readonly [string, readonly string[], string, number][] = [
  ['127.0.0.1', [], 'localhost:1234', 200],
  ['127.0.0.1', [], '[::1]:80', 200],
  ['127.0.0.1', [], 'gw.example', 200],
  ['127.0.0.1', [], 'mcp.example.com', 421],
  ['127.0.0.1', ['mcp.example.com'], 'mcp.example.com:9000', 200],
  ['0.0.0.0', [], 'anything.example', 200],
  ['0.0.0.0', ['mcp.example.com', 'mcp-gw.ns.svc:8080'], 'mcp-gw.ns.svc:8080', 200],
  ['0.0.0.0', ['mcp.example.com'], 'MCP.example.com', 200],
  ['0.0.0.0', ['mcp.example.com'], 'mcp.example.com.evil.test', 421],
  ['0.0.0.0', ['mcp.example.com'], 'localhost', 421],
];
for (const [host, allowedHosts, sent, status] of HOSTS) {
  test(`GB-146: listening on ${host}, allowing [${allowedHosts}], Host ${sent} is ${status}`, async () => {
    rig.snapshot = snapshotOf({ listen: { host, allowedHosts } });
    assert.equal((await sendModern(rig.port, { headers: { Host: sent } })).status, status);
  });
}

const ORIGINS: readonly [string, string, number][] = [
  ['127.0.0.1', 'https://app.example.com', 200],
  ['127.0.0.1', 'https://gw.example', 200],
  ['127.0.0.1', 'http://localhost:PORT', 200],
  ['127.0.0.1', 'http://127.0.0.1:PORT', 200],
  ['127.0.0.1', 'http://localhost:1', 403],
  ['127.0.0.1', 'http://localhost.evil.test:PORT', 403],
  ['127.0.0.1', 'https://evil.example', 403],
  ['0.0.0.0', 'http://localhost:PORT', 403],
  ['0.0.0.0', 'http://gw.example', 403],
];
for (const [host, origin, status] of ORIGINS) {
  test(`GB-146: listening on ${host}, Origin ${origin} is ${status}`, async () => {
    rig.snapshot = snapshotOf({ listen: { host } });
    const sent = origin.replace('PORT', String(rig.port));
    const reply = await sendModern(rig.port, { headers: { Origin: sent } });
    assert.equal(reply.status, status);
    assert.equal(reply.headers.get('access-control-allow-origin'), status === 200 ? sent : undefined);
    if (status === 200)
      assert.match(
        reply.headers.get('access-control-expose-headers') ?? '',
        /WWW-Authenticate, Mcp-Session-Id, Retry-After/,
      );
  });
}

test('RS-10: a preflight is granted to listed pages, for the headers an MCP client needs', async () => {
  const lines = [
    'Origin: https://app.example.com',
    'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region, x-evil',
  ];
  const reply = await send(rig.port, `OPTIONS ${MCP}`, lines);
  assert.deepEqual([reply.status, reply.body], [204, '']);
  assert.equal(reply.headers.get('access-control-allow-origin'), 'https://app.example.com');
  assert.equal(reply.headers.get('access-control-allow-methods'), 'GET, POST, DELETE');
  assert.equal(
    reply.headers.get('access-control-allow-headers'),
    'authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region',
  );
  assert.equal(reply.headers.get('vary'), 'Origin');
  assert.equal(reply.headers.get('access-control-allow-credentials'), undefined);
  const foreign = await send(rig.port, `OPTIONS ${MCP}`, [
    'Origin: https://evil.example',
    'Access-Control-Request-Method: POST',
  ]);
  assert.deepEqual([foreign.status, foreign.headers.get('access-control-allow-origin')], [403, undefined]);
});

test('T-45: two lengths are not two requests', async () => {
  const { start, lines, body } = modernParts();
  const reply = await send(
    rig.port,
    start,
    [...lines, 'Transfer-Encoding: chunked', `Content-Length: ${body.length}`],
    body,
  );
  assert.deepEqual([reply.status, reply.headers.get('connection')], [400, 'close']);
});

test('RFC 9112 §3.2: two Host headers are 400, on every path', async () => {
  for (const path of [MCP, '/nothing', '/.well-known/oauth-protected-resource/acme/everything/mcp']) {
    const reply = await send(rig.port, `GET ${path}`, ['Host: 127.0.0.1', 'HOST: 127.0.0.1']);
    const { error } = JSON.parse(reply.body) as { error: { code: number } };
    assert.deepEqual([reply.status, error.code, reply.headers.get('connection')], [400, -32600, 'close'], path);
  }
});

interface Absolute {
  readonly says: string;
  readonly target: string;
  readonly host?: string;
  readonly status: number;
}
const PRM = '/.well-known/oauth-protected-resource/acme/everything/mcp';
const ABSOLUTE: readonly Absolute[] = [
  { says: 'a name of ours', target: `http://127.0.0.1${MCP}`, status: 200 },
  { says: 'a name of ours with a port, in capitals', target: `HTTP://LOCALHOST:8080${MCP}`, status: 200 },
  { says: 'our public name', target: `https://gw.example${MCP}`, status: 200 },
  { says: 'a query', target: `http://127.0.0.1${MCP}?a=b`, status: 200 },
  { says: 'a name of ours, whatever Host says', target: `http://127.0.0.1${MCP}`, host: 'evil.example', status: 200 },
  { says: 'a strange name, whatever Host says', target: `http://evil.example${MCP}`, host: '127.0.0.1', status: 421 },
  { says: 'a name that begins like ours', target: `http://127.0.0.1.evil.example${MCP}`, status: 421 },
  { says: 'the metadata under a strange name', target: `http://evil.example${PRM}`, status: 404 },
  { says: 'a path that is none', target: 'http://127.0.0.1/nothing', status: 404 },
  { says: 'no path', target: 'http://127.0.0.1', status: 404 },
  { says: 'a detour', target: `http://127.0.0.1/x/..${MCP}`, status: 404 },
  { says: 'two slashes', target: `http://127.0.0.1/${MCP}`, status: 404 },
  { says: 'a URL within a path', target: `/http://127.0.0.1${MCP}`, status: 404 },
  { says: 'a user', target: `http://127.0.0.1@evil.example${MCP}`, status: 400 },
  { says: 'a user of ours', target: `http://evil.example@127.0.0.1${MCP}`, status: 400 },
  { says: 'no authority', target: `http://${MCP}`, status: 400 },
  { says: 'another scheme', target: `ftp://127.0.0.1${MCP}`, status: 400 },
];
for (const { says, target, host = '127.0.0.1', status } of ABSOLUTE) {
  test(`RFC 9112 §3.2.2: a request target that is a URL with ${says} is ${status}`, async () => {
    const reply = await send(rig.port, `POST ${target}`, [JSON_TYPE, `Host: ${host}`], legacyList);
    assert.deepEqual([reply.status, rig.legacy.length], [status, status === 200 ? 1 : 0], reply.body);
  });
}

test('RFC 9112 §3.2.2: where names are not judged, those of a request target are not either', async () => {
  rig.snapshot = snapshotOf({ listen: { host: '0.0.0.0' } });
  for (const [target, status] of [
    [`http://any.example${MCP}`, 200],
    [`http://user@any.example${MCP}`, 400],
  ] as const) {
    assert.equal((await send(rig.port, `POST ${target}`, [JSON_TYPE], legacyList)).status, status);
  }
});

test('a request target that is a URL has the query of its session', async () => {
  const target = 'http://127.0.0.1/acme/everything/messages?sessionId=s-1';
  await send(rig.port, `POST ${target}`, [JSON_TYPE], legacyList);
  assert.equal(rig.legacy[0]?.sessionId, 's-1');
});

const ADVICE: readonly [string, string, RegExp][] = [
  [
    'a batch too many',
    `[${legacyList},${legacyList},${legacyList},${legacyList},${legacyList}]`,
    /Send smaller ones\.$/,
  ],
  ['an empty batch', '[]', /at least one message/],
  ['a key twice', '{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}', /each key once/],
  ['params in a list', '{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', /Name the parameters/],
  ['a wrong jsonrpc', '{"jsonrpc":"1.0","id":1,"method":"x"}', /Send one object with "jsonrpc": "2\.0"/],
];
for (const [what, body, words] of ADVICE) {
  test(`${what}: the next step is one that helps`, async () => {
    const reply = await send(rig.port, `POST ${MCP}`, [JSON_TYPE], body);
    const { message } = (JSON.parse(reply.body) as { error: { message: string } }).error;
    assert.match(message, words);
    assert.equal(/jsonrpc.*Send|Send one object/.test(message), what === 'a wrong jsonrpc', message);
  });
}

const UNREADABLE: readonly [string, readonly string[], string | undefined][] = [
  ['an unknown session that sends no revision', ['Mcp-Session-Id: s'], 'null'],
  ['a session of 2025-06-18 that sends none', ['Mcp-Session-Id: 2025-06-18'], 'null'],
  ['a session of 2025-11-25 that sends none', ['Mcp-Session-Id: 2025-11-25'], undefined],
  ['2025-06-18', ['Mcp-Session-Id: s', 'MCP-Protocol-Version: 2025-06-18'], 'null'],
  ['2025-11-25', ['Mcp-Session-Id: s', 'MCP-Protocol-Version: 2025-11-25'], undefined],
  ['2026-07-28', ['MCP-Protocol-Version: 2026-07-28'], undefined],
];
for (const [who, lines, id] of UNREADABLE) {
  test(`Part 7 #5: the error of an unreadable message, or of a batch, has the id that ${who} knows: ${id}`, async () => {
    for (const body of ['{"jsonrpc":', '[]']) {
      const reply = await send(rig.port, `POST ${MCP}`, [JSON_TYPE, ...lines], body);
      assert.equal(reply.status, 400);
      assert.equal(/^\{"jsonrpc":"2\.0","id":null,/.test(reply.body), id === 'null', reply.body);
    }
  });
}
