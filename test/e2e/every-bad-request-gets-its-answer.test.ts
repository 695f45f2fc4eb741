// Does every rung of the ladder (protocol.md §2.1) answer with exactly its status and code, echo a readable id, and help?
// Bare socket, one thing wrong at a time.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern, type ModernWish, modernRequest } from '../harness/messages.ts';
import { type RawRequest, sendRaw } from '../harness/raw.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}.ts`, import.meta.url));
const LIST: ModernWish = { id: 'q-7', method: 'tools/list' };
const CALL: ModernWish = {
  id: 'q-7',
  method: 'tools/call',
  params: { name: 'test_simple_text', arguments: {} },
};
const HEADED: ModernWish = {
  id: 'q-7',
  method: 'tools/call',
  params: { name: 'test_x_mcp_header', arguments: { region: 'Ålesund' } },
};

interface Row {
  readonly rung: string;
  readonly what: string;
  readonly request: RawRequest;
  readonly status: number;
  /** Null: no JSON-RPC body is asked for. */
  readonly code: number | null;
  /** Undefined: the id must be `q-7`; null: there must be none. */
  readonly id?: null;
  readonly data?: (data: Record<string, unknown>) => void;
}

function raw(body: string | Uint8Array, headers: Readonly<Record<string, string | undefined>> = {}): RawRequest {
  const request = modernRequest({ ...LIST, headers });
  return { ...request, body };
}

const spoiled = (wish: ModernWish, more: Partial<ModernWish>): RawRequest => modernRequest({ ...wish, ...more });
const header = (name: string, value: string | undefined, wish = LIST) => spoiled(wish, { headers: { [name]: value } });

const ROWS: readonly Row[] = [
  {
    rung: '#1',
    what: 'a foreign Origin',
    request: header('origin', 'https://evil.example'),
    status: 403,
    code: -32600,
    id: null,
  },
  { rung: '#2a', what: 'PUT', request: { ...modernRequest(LIST), method: 'PUT' }, status: 405, code: null },
  {
    rung: '#4',
    what: 'another media type',
    request: header('content-type', 'text/plain'),
    status: 415,
    code: -32600,
    id: null,
  },
  { rung: '#7', what: 'no JSON', request: raw('{"jsonrpc":'), status: 400, code: -32700, id: null },
  {
    rung: '#7',
    what: 'no UTF-8',
    request: raw(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
    status: 400,
    code: -32700,
    id: null,
  },
  { rung: '#7', what: 'nothing', request: raw(''), status: 400, code: -32700, id: null },
  {
    rung: '#8',
    what: 'an array',
    request: raw(`[${modernRequest(LIST).body as string}]`),
    status: 400,
    code: -32600,
    id: null,
  },
  { rung: '#9', what: 'a string', request: raw('"hello"'), status: 400, code: -32600, id: null },
  {
    rung: '#9',
    what: 'id null',
    request: raw((modernRequest(LIST).body as string).replace('"q-7"', 'null')),
    status: 400,
    code: -32600,
    id: null,
  },
  {
    rung: '#9',
    what: 'a fractional id',
    request: raw((modernRequest(LIST).body as string).replace('"q-7"', '1.5')),
    status: 400,
    code: -32600,
    id: null,
  },
  {
    rung: '#9',
    what: 'JSON-RPC 1.0',
    request: raw((modernRequest(LIST).body as string).replace('"2.0"', '"1.0"')),
    status: 400,
    code: -32600,
  },
  {
    rung: '#9',
    what: 'a key twice',
    request: raw((modernRequest(LIST).body as string).replace('"params":{', '"params":{"cursor":"a","cursor":"b",')),
    status: 400,
    code: -32600,
  },
  {
    rung: '#12',
    what: 'no version header',
    request: header('mcp-protocol-version', undefined),
    status: 400,
    code: -32020,
  },
  {
    rung: '#12',
    what: 'another version header',
    request: header('mcp-protocol-version', '2025-11-25'),
    status: 400,
    code: -32020,
  },
  {
    rung: '#13',
    what: 'no version in the envelope',
    request: spoiled(LIST, { meta: { 'io.modelcontextprotocol/protocolVersion': undefined } }),
    status: 400,
    code: -32602,
  },
  {
    rung: '#13',
    what: 'no capabilities in the envelope',
    request: spoiled(LIST, { meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } }),
    status: 400,
    code: -32602,
  },
  {
    rung: '#13',
    what: 'capabilities of the wrong type',
    request: spoiled(LIST, { meta: { 'io.modelcontextprotocol/clientCapabilities': 'all' } }),
    status: 400,
    code: -32602,
  },
  {
    rung: '#14',
    what: 'an unknown version, said twice',
    request: spoiled(LIST, {
      meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
      headers: { 'mcp-protocol-version': '2099-01-01' },
    }),
    status: 400,
    code: -32022,
    data: (data) => {
      assert.equal(data.requested, '2099-01-01');
      assert.ok((data.supported as string[]).includes('2026-07-28'));
    },
  },
  { rung: '#15', what: 'no Mcp-Method', request: header('mcp-method', undefined), status: 400, code: -32020 },
  { rung: '#15', what: 'another Mcp-Method', request: header('mcp-method', 'tools/call'), status: 400, code: -32020 },
  {
    rung: '#15',
    what: 'Mcp-Method in another case',
    request: header('mcp-method', 'Tools/List'),
    status: 400,
    code: -32020,
  },
  { rung: '#16', what: 'no Mcp-Name', request: header('mcp-name', undefined, CALL), status: 400, code: -32020 },
  {
    rung: '#16',
    what: 'another Mcp-Name',
    request: header('mcp-name', 'test_image_content', CALL),
    status: 400,
    code: -32020,
  },
  {
    rung: '#16',
    what: 'an undecodable Mcp-Name',
    request: header('mcp-name', '=?base64?%%%?=', CALL),
    status: 400,
    code: -32020,
  },
  {
    rung: '#17',
    what: 'an unknown method',
    request: spoiled(LIST, { method: 'tools/explode' }),
    status: 404,
    code: -32601,
  },
  ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/list'].map((method) => ({
    rung: '#17',
    what: `${method}, which is gone`,
    request: spoiled(LIST, { method }),
    status: 404,
    code: -32601,
  })),
  {
    rung: '#19',
    what: 'an unknown tool',
    request: spoiled(CALL, { params: { name: 'nobody', arguments: {} } }),
    status: 200,
    code: -32602,
  },
  {
    rung: '#19',
    what: 'an unknown resource',
    request: spoiled(LIST, { method: 'resources/read', params: { uri: 'test://nobody' } }),
    status: 200,
    code: -32602,
    data: (data) => assert.equal(data.uri, 'test://nobody'),
  },
  {
    rung: '#19',
    what: 'a made-up cursor',
    request: spoiled(LIST, { params: { cursor: 'made-up' } }),
    status: 200,
    code: -32602,
  },
  {
    rung: '#19',
    what: 'an unknown log level',
    request: spoiled(CALL, { meta: { 'io.modelcontextprotocol/logLevel': 'shouting' } }),
    status: 200,
    code: -32602,
  },
  { rung: '#20', what: 'no Mcp-Param', request: modernRequest(HEADED), status: 400, code: -32020 },
  {
    rung: '#20',
    what: 'another Mcp-Param',
    request: header('mcp-param-region', 'Oslo', HEADED),
    status: 400,
    code: -32020,
  },
  {
    rung: '#20',
    what: 'a broken Mcp-Param',
    request: header('mcp-param-region', '=?base64?!?=', HEADED),
    status: 400,
    code: -32020,
  },
  {
    rung: '#21',
    what: 'a made-up state',
    request: spoiled(CALL, { params: { name: 'test_simple_text', arguments: {}, requestState: 'made-up' } }),
    status: 200,
    code: -32602,
  },
];

let lockkeeper: Lockkeeper;
let url: string;

before(async () => {
  lockkeeper = await startStandalone({ servers: [{ name: 'dual', args: [fixture('dual')] }] });
  url = lockkeeper.route('/acme/dual/mcp');
});
after(() => lockkeeper?.stop());

describe('the request ladder', () => {
  for (const { rung, what, request, status, code, id, data } of ROWS) {
    it(`${rung} ${what}: ${status}${code === null ? '' : ` with ${code}`}`, async () => {
      const response = await sendRaw(url, request);
      const text = await response.text();
      response.destroy();
      assert.equal(response.status, status, text);
      if (code === null) return;
      const message = JSON.parse(text) as { id?: unknown; error?: { code: number; message: string; data?: never } };
      assert.equal(message.error?.code, code, text);
      assert.ok(message.error.message.length > 10, text);
      if (id === null) assert.ok(message.id === undefined || message.id === null, text);
      else assert.equal(message.id, 'q-7', text);
      data?.(message.error.data ?? {});
    });
  }

  it('#2a names the verbs it takes', async () => {
    const response = await sendRaw(url, { ...modernRequest(LIST), method: 'PUT' });
    response.destroy();
    assert.match(response.headers.get('allow') ?? '', /POST/);
  });

  it('an unknown route is 404 before anything is asked of the caller', async () => {
    const response = await sendRaw(lockkeeper.route('/acme/nowhere/mcp'), modernRequest(LIST));
    response.destroy();
    assert.equal(response.status, 404);
  });

  it('#1a without an Origin, with encoded headers in any case, everything right is answered', async () => {
    const name = Buffer.from('test_x_mcp_header').toString('base64');
    const region = Buffer.from('Ålesund').toString('base64');
    const headers = {
      'mcp-name': undefined,
      'MCP-NAME': `=?base64?${name}?=`,
      'Mcp-Param-REGION': `=?base64?${region}?=`,
    };
    const { status, message } = await callModern(url, { ...HEADED, headers });
    assert.equal(status, 200, JSON.stringify(message));
    assert.match(JSON.stringify(message?.result), /region=Ålesund/);
  });

  it('goes on serving after all of that', async () => {
    const { status, message } = await callModern(url, CALL);
    assert.equal(status, 200);
    const result = message?.result as { resultType: string };
    assert.equal(result.resultType, 'complete');
  });
});
