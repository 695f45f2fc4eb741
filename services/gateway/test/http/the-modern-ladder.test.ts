// Every rung of protocol.md §2.1 on a raw socket: exact status, code, id. One row per situation; a request that
// breaks several rules gets the answer of the first.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CC, type ModernCall, modernParts, PV, type Rig, send, startRig } from './rig.ts';

interface Row {
  readonly says: string;
  readonly call: ModernCall;
  readonly status: number;
  readonly code: number | null;
  /** undefined: the error has no id. */
  readonly id?: unknown;
  readonly extra?: string;
  /** Replaces the whole body on the wire. */
  readonly raw?: string | Buffer;
}

const NAMED = { name: 'echo', arguments: {} };
const callTool = (headers: Record<string, string | null>, params: Record<string, unknown> = NAMED): ModernCall => ({
  method: 'tools/call',
  params,
  headers,
});
const text = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
const envelope = { [PV]: '2026-07-28', [CC]: {} };
const bare = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });

const ROWS: readonly Row[] = [
  {
    says: '#1 an Origin off the list is refused',
    call: { headers: { Origin: 'https://evil.example' } },
    status: 403,
    code: -32600,
  },
  {
    says: '#1 an Origin that only starts like ours is refused',
    call: { headers: { Origin: 'https://app.example.com.evil.test' } },
    status: 403,
    code: -32600,
  },
  { says: '#1 the Origin null is refused', call: { headers: { Origin: 'null' } }, status: 403, code: -32600 },
  {
    says: '#1 a listed Origin is served',
    call: { headers: { Origin: 'https://app.example.com' } },
    status: 200,
    code: null,
  },
  {
    says: '#1b a foreign Host on loopback is refused',
    call: { headers: { Host: 'evil.example.com' } },
    status: 421,
    code: -32600,
  },
  {
    says: '#4 another media type is refused',
    call: { headers: { 'Content-Type': 'text/plain' } },
    status: 415,
    code: -32600,
  },
  {
    says: '#4 a missing media type is refused',
    call: { headers: { 'Content-Type': null } },
    status: 415,
    code: -32600,
  },
  {
    says: '#4 a nonsense media type is refused',
    call: { headers: { 'Content-Type': ';;,' } },
    status: 415,
    code: -32600,
  },
  {
    says: '#4 a compressed body is refused',
    call: { headers: { 'Content-Encoding': 'gzip' } },
    status: 415,
    code: -32600,
  },
  {
    says: '#4 parameters of the media type are allowed (GB-147)',
    call: { headers: { 'Content-Type': 'Application/JSON; charset=utf-8' } },
    status: 200,
    code: null,
  },
  {
    says: '#5 a body over the limit is refused',
    call: { params: { pad: 'x'.repeat(70_000) } },
    status: 413,
    code: -32600,
  },
  {
    says: '#6 an Accept that shuts both forms out is refused',
    call: { headers: { Accept: 'text/html' } },
    status: 406,
    code: -32600,
  },
  { says: '#6 */* is served (GB-147)', call: { headers: { Accept: '*/*' } }, status: 200, code: null },
  { says: '#6 no Accept is served (GB-147)', call: { headers: { Accept: null } }, status: 200, code: null },
  {
    says: '#6 APPLICATION/JSON alone is served (GB-147)',
    call: { headers: { Accept: 'APPLICATION/JSON' } },
    status: 200,
    code: null,
  },
  {
    says: '#6 quality values are read (GB-147)',
    call: { headers: { Accept: 'application/json;q=0.9, text/event-stream;q=0.1' } },
    status: 200,
    code: null,
  },
  { says: '#7 no JSON is a parse error', call: {}, raw: '{"jsonrpc":', status: 400, code: -32700 },
  { says: '#7 an empty body is a parse error', call: {}, raw: '', status: 400, code: -32700 },
  { says: '#7 text after the value is a parse error', call: {}, raw: '{} {}', status: 400, code: -32700 },
  {
    says: '#7 bytes that are not UTF-8 are a parse error (GB-033)',
    call: {},
    raw: Buffer.from('{"a":"\xff"}', 'latin1'),
    status: 400,
    code: -32700,
  },
  {
    says: '#7 a byte order mark alone is a parse error (GB-033)',
    call: {},
    raw: Buffer.from([0xef, 0xbb, 0xbf]),
    status: 400,
    code: -32700,
  },
  {
    says: '#7 a byte order mark in front is a parse error (GB-033)',
    call: {},
    raw: '\ufeff{}',
    status: 400,
    code: -32700,
  },
  {
    says: '#7 a body deeper than the limit is refused',
    call: {},
    raw: `${'['.repeat(40)}${']'.repeat(40)}`,
    status: 400,
    code: -32600,
  },
  { says: '#8 an array is refused', call: {}, raw: '[]', status: 400, code: -32600 },
  {
    says: '#8 an array of one modern request is refused',
    call: {},
    raw: `[${bare({ _meta: envelope })}]`,
    status: 400,
    code: -32600,
  },
  { says: '#9 null is no message', call: {}, raw: 'null', status: 400, code: -32600 },
  { says: '#9 a string is no message', call: {}, raw: '"tools/list"', status: 400, code: -32600 },
  {
    says: '#9 a message without jsonrpc is refused with its id',
    call: {},
    raw: '{"id":7,"method":"tools/list"}',
    status: 400,
    code: -32600,
    id: 7,
  },
  {
    says: '#9 jsonrpc 1.0 is refused with its id',
    call: {},
    raw: '{"jsonrpc":"1.0","id":"a","method":"x"}',
    status: 400,
    code: -32600,
    id: 'a',
  },
  {
    says: '#9 id null is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
    status: 400,
    code: -32600,
  },
  {
    says: '#9 id 1.5 is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}',
    status: 400,
    code: -32600,
  },
  {
    says: '#9 id true is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":true,"method":"tools/list"}',
    status: 400,
    code: -32600,
  },
  {
    says: '#9 a method that is no string is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":5}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#9 params that are an array are refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#9 a request with a result is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":"tools/list","result":{}}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#9 a repeated key is refused, wherever it is (T-50)',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"a":{"n":1,"n":2}}}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#9 a repeated key in another spelling is refused (T-50)',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"ab":1,"\\u0061b":2}}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#9 the key __proto__ is refused (T-49)',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"__proto__":{}}}',
    status: 400,
    code: -32600,
    id: 3,
  },
  {
    says: '#10 a response is refused',
    call: {},
    raw: '{"jsonrpc":"2.0","id":3,"result":{}}',
    status: 400,
    code: -32600,
  },
  {
    says: '#12 a missing version header is refused',
    call: { headers: { 'MCP-Protocol-Version': null } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#12 a version header that differs is refused',
    call: { headers: { 'MCP-Protocol-Version': '2025-11-25' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#12 two version headers are refused',
    call: { headers: { 'MCP-Protocol-Version': '2026-07-28', 'mcp-protocol-version': '2026-07-28' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#12 comes before #14', call: { meta: { [PV]: 'v999.0.0' } }, status: 400, code: -32020, id: 1 },
  {
    says: '#13 no params under a modern header is refused',
    call: { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
    status: 400,
    code: -32602,
    id: 1,
  },
  { says: '#13 no _meta is refused', call: { body: bare({}) }, status: 400, code: -32602, id: 1 },
  {
    says: '#13 a _meta that is no object is refused',
    call: { body: bare({ _meta: 'x' }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 no revision in the envelope is refused',
    call: { body: bare({ _meta: { [CC]: {} } }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 a revision that is no string is refused',
    call: { meta: { [PV]: 20260728 } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 no capabilities are refused',
    call: { body: bare({ _meta: { [PV]: '2026-07-28' } }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 capabilities that are an array are refused',
    call: { meta: { [CC]: [] } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 a capability that is no object is refused',
    call: { meta: { [CC]: { sampling: true } } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 comes before #15',
    call: { body: bare({}), headers: { 'Mcp-Method': null } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#14 an unknown revision is refused with the list',
    call: { meta: { [PV]: 'v999.0.0' }, headers: { 'MCP-Protocol-Version': 'v999.0.0' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"v999.0.0"}',
  },
  {
    says: '#14 a legacy revision in an envelope is sent to modern ones only (Part 7 #6)',
    call: { meta: { [PV]: '2025-11-25' }, headers: { 'MCP-Protocol-Version': '2025-11-25' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28"],"requested":"2025-11-25"}',
  },
  {
    says: '#14 a modern-only route lists itself only',
    call: { path: '/acme/modern/mcp', meta: { [PV]: '2027-01-01' }, headers: { 'MCP-Protocol-Version': '2027-01-01' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28"],"requested":"2027-01-01"}',
  },
  {
    says: '#14 comes before #15',
    call: { meta: { [PV]: 'x' }, headers: { 'MCP-Protocol-Version': 'x', 'Mcp-Method': null } },
    status: 400,
    code: -32022,
    id: 1,
  },
  {
    says: '#15 a missing Mcp-Method is refused',
    call: { headers: { 'Mcp-Method': null } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 an Mcp-Method that differs is refused (GB-045)',
    call: { method: 'server/discover', headers: { 'Mcp-Method': 'initialize' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 values are case-sensitive',
    call: { headers: { 'Mcp-Method': 'Tools/List' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 names of headers are not case-sensitive (GB-052 g)',
    call: { headers: { 'Mcp-Method': null, 'mCp-mEtHoD': 'tools/list' } },
    status: 200,
    code: null,
  },
  {
    says: '#15 comes before #17',
    call: { method: 'foo/bar', headers: { 'Mcp-Method': 'tools/list' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#16 a missing Mcp-Name is refused', call: callTool({}), status: 400, code: -32020, id: 1 },
  {
    says: '#16 an Mcp-Name that differs is refused (GB-052 a)',
    call: callTool({ 'Mcp-Name': 'safe' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 two Mcp-Name headers are refused (GB-052 f)',
    call: callTool({ 'Mcp-Name': 'echo', 'mcp-name': 'echo' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#16 an equal Mcp-Name is served', call: callTool({ 'Mcp-Name': 'echo' }), status: 200, code: null },
  { says: '#16 blanks around it do not count', call: callTool({ 'Mcp-Name': '  echo  ' }), status: 200, code: null },
  { says: '#16 base64 is decoded (GB-047)', call: callTool({ 'Mcp-Name': text('echo') }), status: 200, code: null },
  {
    says: '#16 a non-ASCII URI is decoded (GB-047)',
    call: {
      method: 'resources/read',
      params: { uri: 'file:///docs/übersicht.md' },
      headers: { 'Mcp-Name': '=?base64?ZmlsZTovLy9kb2NzL8O8YmVyc2ljaHQubWQ=?=' },
    },
    status: 200,
    code: null,
  },
  {
    says: '#16 bad base64 is refused (GB-047)',
    call: callTool({ 'Mcp-Name': '=?base64?!!!?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 the marker is case-sensitive (GB-047)',
    call: callTool({ 'Mcp-Name': '=?BASE64?ZWNobw==?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 base64 of no UTF-8 is refused (GB-047)',
    call: callTool({ 'Mcp-Name': '=?base64?/w==?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 a name that looks like a sentinel is served encoded (GB-048)',
    call: callTool({ 'Mcp-Name': text('=?base64?literal?=') }, { name: '=?base64?literal?=' }),
    status: 200,
    code: null,
  },
  {
    says: '#16 a name that looks like a sentinel is refused plain (GB-048)',
    call: callTool({ 'Mcp-Name': '=?base64?literal?=' }, { name: '=?base64?literal?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 prompts/get needs it',
    call: { method: 'prompts/get', params: { name: 'p' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 resources/read needs it',
    call: { method: 'resources/read', params: { uri: 'a:b' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 tasks/get may lack it (Part 7 #7)',
    call: { method: 'tasks/get', params: { taskId: 't' } },
    status: 200,
    code: null,
  },
  {
    says: '#16 tasks/get must not have another (Part 7 #7)',
    call: { method: 'tasks/get', params: { taskId: 't' }, headers: { 'Mcp-Name': 'u' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#17 an unknown method is 404 (GB-054)', call: { method: 'foo/bar' }, status: 404, code: -32601, id: 1 },
  ...[
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'tasks/result',
  ].map((method): Row => ({ says: `#17 ${method} is gone`, call: { method }, status: 404, code: -32601, id: 1 })),
  {
    says: '#18 initialize is told the served revisions',
    call: { method: 'initialize' },
    status: 404,
    code: -32601,
    id: 1,
    extra: '{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}',
  },
  {
    says: '#18 initialize without an envelope under a modern header contradicts itself (§3.1)',
    call: {
      method: 'initialize',
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#19 an unknown log level is refused at 200',
    call: { meta: { 'io.modelcontextprotocol/logLevel': 'loud' } },
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: '#19 a progress token that is an object is refused at 200',
    call: { meta: { progressToken: {} } },
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: '#19 a name that is no string is refused at 200',
    call: callTool({ 'Mcp-Name': '5' }, { name: 5 }),
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: 'a session header and Last-Event-ID are ignored (GB-054)',
    call: { headers: { 'Mcp-Session-Id': 'zzz', 'Last-Event-ID': '3' } },
    status: 200,
    code: null,
  },
  {
    says: 'a slash at the end of the path is served (GB-147)',
    call: { path: '/acme/everything/mcp/' },
    status: 200,
    code: null,
  },
];

let rig: Rig;
before(async () => {
  rig = await startRig();
});
after(() => rig.close());

for (const row of ROWS) {
  test(`${row.says}: ${row.status} ${row.code ?? 'result'}`, async () => {
    const { start, lines, body } = modernParts(row.call);
    const before = rig.seen.length;
    const reply = await send(rig.port, start, lines, row.raw ?? body);
    assert.equal(reply.status, row.status, reply.body);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assert.equal(reply.headers.get('cache-control'), 'no-store');
    assert.equal(reply.headers.get('mcp-session-id'), undefined);
    const message = JSON.parse(reply.body) as {
      jsonrpc: string;
      id?: unknown;
      error?: { code: number; message: string; data: Record<string, unknown> };
      result?: unknown;
    };
    assert.equal(message.jsonrpc, '2.0');
    if (row.code === null) {
      assert.equal(rig.seen.length, before + 1);
      assert.ok(message.result !== undefined);
      return;
    }
    assert.equal(rig.seen.length, before, 'a refused request goes no further');
    assert.equal(message.error?.code, row.code, reply.body);
    assert.deepEqual(message.id, row.id);
    assert.equal('id' in message, row.id !== undefined);
    assert.ok((message.error?.message.length ?? 0) > 10);
    assert.equal(message.error?.data['lockkeeper/exchange'], reply.headers.get('lockkeeper-exchange'));
    if (row.extra !== undefined) {
      const { 'lockkeeper/exchange': _exchange, ...data } = message.error?.data ?? {};
      assert.deepEqual(data, JSON.parse(row.extra));
    }
  });
}

test('a notification is taken with 202 and nothing else, whatever its headers', async () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { _meta: envelope, requestId: 1 },
  });
  const { start, lines } = modernParts({ headers: { 'Mcp-Method': null } });
  const reply = await send(rig.port, start, lines, body);
  assert.deepEqual([reply.status, reply.body], [202, '']);
});

test('a refusal for one request is no mark against the next (GB-045)', async () => {
  const bad = modernParts({ method: 'server/discover', headers: { 'Mcp-Method': 'initialize' } });
  const good = modernParts({});
  assert.equal((await send(rig.port, bad.start, bad.lines, bad.body)).status, 400);
  assert.equal((await send(rig.port, good.start, good.lines, good.body)).status, 200);
});

test('headers over the limit are 431', async () => {
  const { start, lines, body } = modernParts({});
  const reply = await send(rig.port, start, [...lines, `X-Pad: ${'x'.repeat(40_000)}`], body);
  assert.equal(reply.status, 431);
  assert.equal((JSON.parse(reply.body) as { jsonrpc: string }).jsonrpc, '2.0');
});

test('a chunked body over the limit is 413 before its end', async () => {
  const { start, lines } = modernParts({});
  const chunk = `${(66_000).toString(16)}\r\n${'x'.repeat(66_000)}\r\n`;
  const reply = await send(rig.port, start, [...lines, 'Transfer-Encoding: chunked'], chunk);
  assert.equal(reply.status, 413);
  assert.equal(reply.headers.get('connection'), 'close');
});
