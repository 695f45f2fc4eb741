// The rows of protocol.md §2.1 as data: one thing wrong at a time in an otherwise right request, and exactly what must come
// back. Made for a route by the name its tools have there.

import assert from 'node:assert/strict';
import { type ModernWish, modernRequest } from '../harness/messages.ts';
import type { RawRequest } from '../harness/raw.ts';

export interface Row {
  readonly rung: string;
  readonly what: string;
  readonly request: RawRequest;
  readonly status: number;
  /** Null: no JSON-RPC body is asked for. */
  readonly code: number | null;
  /** Undefined: the id must be `q-7`; null: there must be none. */
  readonly id?: null;
  readonly data?: (data: Record<string, unknown>) => void;
  readonly words?: RegExp;
}

type More = Pick<Row, 'id' | 'data' | 'words'>;
type Change = Readonly<Record<string, string | undefined>>;

/** The limit that the rows' server is started with. */
export const MAX_BODY = 64 * 1024;

const PV = 'io.modelcontextprotocol/protocolVersion';
const CC = 'io.modelcontextprotocol/clientCapabilities';
const LL = 'io.modelcontextprotocol/logLevel';
const LIST: ModernWish = { id: 'q-7', method: 'tools/list' };
const GONE = ['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/list', 'tasks/result'];
/** The id could not be read, or was not looked for. */
const NO_ID: More = { id: null };

const row = (
  rung: string,
  what: string,
  request: RawRequest,
  [status, code]: readonly [number, number | null],
  more: More = {},
): Row => ({ rung, what, request, status, code, ...more });

const spoiled = (wish: ModernWish, more: Partial<ModernWish>): RawRequest => modernRequest({ ...wish, ...more });
const header = (name: string, value: string | undefined, wish = LIST) => spoiled(wish, { headers: { [name]: value } });
const meta = (change: Readonly<Record<string, unknown>>, headers: Change = {}) =>
  spoiled(LIST, { meta: change, headers });
const raw = (body: string | Uint8Array): RawRequest => ({ ...modernRequest(LIST), body });
const BODY = modernRequest(LIST).body as string;
const rewritten = (from: string, to: string): RawRequest => {
  assert.ok(BODY.includes(from), from);
  return raw(BODY.replace(from, to));
};
const bare = (rest: string) => raw(`{"jsonrpc":"2.0","id":"q-7",${rest}}`);

/** Refused before anybody looks at what the body means. */
const DOOR: readonly Row[] = [
  row('#1', 'a foreign Origin', header('origin', 'https://evil.example'), [403, -32600], NO_ID),
  row('#1', 'the Origin null', header('origin', 'null'), [403, -32600], NO_ID),
  row('#1b', 'a foreign Host', header('host', 'evil.example'), [421, -32600], NO_ID),
  row('#2', 'GET without a session', { method: 'GET', headers: { accept: 'text/event-stream' } }, [405, null]),
  row('#2a', 'PUT', { ...modernRequest(LIST), method: 'PUT' }, [405, null]),
  row('#4', 'another media type', header('content-type', 'text/plain'), [415, -32600], NO_ID),
  row('#4', 'no media type', header('content-type', undefined), [415, -32600], NO_ID),
  row('#4', 'a compressed body', header('content-encoding', 'gzip'), [415, -32600], NO_ID),
  row('#5', 'too large a body', raw(`${BODY}${' '.repeat(MAX_BODY)}`), [413, -32600], NO_ID),
  row('#5', 'too large headers', header('x-padding', 'x'.repeat(40_000)), [431, -32600], NO_ID),
  row('#6', 'an Accept that shuts both forms out', header('accept', 'text/html'), [406, -32600], NO_ID),
];

const DEEP = `"params":{"x":${'['.repeat(500)}${']'.repeat(500)},`;
const NOT_UTF8 = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);

/** Not one JSON-RPC request. */
const MESSAGE: readonly Row[] = [
  row('#7', 'no JSON', raw('{"jsonrpc":'), [400, -32700], NO_ID),
  row('#7', 'no UTF-8', raw(NOT_UTF8), [400, -32700], NO_ID),
  row('#7', 'nothing', raw(''), [400, -32700], NO_ID),
  row('#7', 'two messages', raw(`${BODY}${BODY}`), [400, -32700], NO_ID),
  row('#8', 'an array', raw(`[${BODY}]`), [400, -32600], NO_ID),
  row('#9', 'a string', raw('"hello"'), [400, -32600], NO_ID),
  row('#9', 'id null', rewritten('"q-7"', 'null'), [400, -32600], NO_ID),
  row('#9', 'a fractional id', rewritten('"q-7"', '1.5'), [400, -32600], NO_ID),
  row('#9', 'an id that is an object', rewritten('"q-7"', '{}'), [400, -32600], NO_ID),
  row('#9', 'JSON-RPC 1.0', rewritten('"2.0"', '"1.0"'), [400, -32600]),
  row('#9', 'a method that is a number', rewritten('"tools/list"', '7'), [400, -32600]),
  row('#9', 'a key twice', rewritten('"params":{', '"params":{"cursor":"a","cursor":"b",'), [400, -32600]),
  row('#9', 'the key __proto__', rewritten('"params":{', '"params":{"__proto__":{},'), [400, -32600]),
  row('#9', 'nesting without end', rewritten('"params":{', DEEP), [400, -32600]),
  row('#10', 'a response', bare('"result":{}'), [400, -32600], NO_ID),
  row('#11', 'initialize, a modern header and no envelope', bare('"method":"initialize","params":{}'), [400, -32020]),
];

const version = (said: string) => meta({ [PV]: said }, { 'mcp-protocol-version': said });
const unknownVersion = (data: Record<string, unknown>) => {
  assert.equal(data.requested, '2099-01-01');
  assert.ok((data.supported as string[]).includes('2026-07-28'));
};
/** Only what can be used without a session, or the client would come back with the same (protocol.md Part 7 #6). */
const legacyVersion = (data: Record<string, unknown>) =>
  assert.deepEqual([data.requested, data.supported], ['2025-11-25', ['2026-07-28']]);

/** Headers and envelope that do not go together. */
const ENVELOPE: readonly Row[] = [
  row('#12', 'no version header', header('mcp-protocol-version', undefined), [400, -32020]),
  row('#12', 'another version header', header('mcp-protocol-version', '2025-11-25'), [400, -32020]),
  row('#12', 'two versions in one header', header('mcp-protocol-version', '2026-07-28, 2026-07-28'), [400, -32020]),
  row('#13', 'no params', bare('"method":"tools/list"'), [400, -32602]),
  row('#13', 'an envelope that is a string', bare('"method":"tools/list","params":{"_meta":"x"}'), [400, -32602]),
  row('#13', 'no version in the envelope', meta({ [PV]: undefined }), [400, -32602], { words: /protocolVersion/ }),
  row('#13', 'a version that is a number', meta({ [PV]: 2026 }), [400, -32602], { words: /protocolVersion/ }),
  row('#13', 'no capabilities', meta({ [CC]: undefined }), [400, -32602], { words: /clientCapabilities/ }),
  row('#13', 'capabilities of a wrong type', meta({ [CC]: 'all' }), [400, -32602], { words: /clientCapabilities/ }),
  row('#14', 'an unknown version, said twice', version('2099-01-01'), [400, -32022], { data: unknownVersion }),
  row('#14', 'a legacy version, said twice', version('2025-11-25'), [400, -32022], { data: legacyVersion }),
  row('#15', 'no Mcp-Method', header('mcp-method', undefined), [400, -32020]),
  row('#15', 'another Mcp-Method', header('mcp-method', 'tools/call'), [400, -32020]),
  row('#15', 'Mcp-Method in another case', header('mcp-method', 'Tools/List'), [400, -32020]),
];

const initialize: More = {
  words: /2026-07-28/,
  data: (data) => assert.ok((data.supported as string[]).includes('2025-11-25')),
};

const METHOD: readonly Row[] = [
  row('#17', 'an unknown method', spoiled(LIST, { method: 'tools/explode' }), [404, -32601]),
  ...GONE.map((method) => row('#17', `${method}, which is gone`, spoiled(LIST, { method }), [404, -32601])),
  row('#18', 'a modern initialize', spoiled(LIST, { method: 'initialize' }), [404, -32601], initialize),
  row('#19', 'a made-up cursor', spoiled(LIST, { params: { cursor: 'made-up' } }), [200, -32602]),
  row('#19', 'a cursor that is a number', spoiled(LIST, { params: { cursor: 7 } }), [200, -32602]),
  row('#19', 'an unknown log level', meta({ [LL]: 'shouting' }), [200, -32602]),
  row('#19', 'a progress token that is an object', meta({ progressToken: {} }), [200, -32602]),
];

/** Names and arguments: `prefix` goes before tools and prompts, `suffix` behind URIs. */
function named(prefix: string, suffix: string): readonly Row[] {
  const asked = (method: string, params: ModernWish['params']): ModernWish => ({ id: 'q-7', method, params: params! });
  const call = (name: string, args: object = {}) => asked('tools/call', { name: `${prefix}${name}`, arguments: args });
  const simple = call('test_simple_text');
  const annotated = call('test_x_mcp_header', { region: 'Ålesund' });
  const uri = `test://nobody${suffix}`;
  const read = asked('resources/read', { uri });
  const completed = asked('completion/complete', {
    ref: { type: 'ref/nothing' },
    argument: { name: 'x', value: '' },
  });
  const seven = spoiled(simple, { params: { name: 7 }, headers: { 'mcp-name': '7' } });
  const state = { ...simple.params, requestState: 'made-up' };
  return [
    row('#16', 'no Mcp-Name', header('mcp-name', undefined, simple), [400, -32020]),
    row('#16', 'another Mcp-Name', header('mcp-name', `${prefix}test_image_content`, simple), [400, -32020]),
    row('#16', 'an undecodable Mcp-Name', header('mcp-name', '=?base64?%%%?=', simple), [400, -32020]),
    row('#16', 'no Mcp-Name for a resource', header('mcp-name', undefined, read), [400, -32020]),
    row('#19', 'a name that is a number', seven, [200, -32602]),
    row('#19', 'an unknown tool', modernRequest(call('nobody')), [200, -32602], { words: /nobody/ }),
    row('#19', 'a tool of no server', spoiled(simple, { params: { name: 'elsewhere__tool' } }), [200, -32602]),
    row('#19', 'an unknown prompt', modernRequest(asked('prompts/get', { name: `${prefix}nobody` })), [200, -32602]),
    row('#19', 'an unknown resource', modernRequest(read), [200, -32602], {
      data: (data) => assert.equal(data.uri, uri),
    }),
    row('#19', 'a reference to nothing', modernRequest(completed), [200, -32602]),
    row('#19', 'no reference', spoiled(completed, { params: {} }), [200, -32602]),
    row('#20', 'no Mcp-Param', modernRequest(annotated), [400, -32020]),
    row('#20', 'another Mcp-Param', header('mcp-param-region', 'Oslo', annotated), [400, -32020]),
    row('#20', 'a broken Mcp-Param', header('mcp-param-region', '=?base64?!?=', annotated), [400, -32020]),
    row('#21', 'a made-up state', spoiled(simple, { params: state }), [200, -32602]),
    row('#22', 'a lack of what the tool needs', modernRequest(call('test_missing_capability')), [400, -32021], {
      data: (data) => assert.equal(typeof data.requiredCapabilities, 'object'),
    }),
  ];
}

export function badRequests(prefix: string, suffix: string): readonly Row[] {
  return [...DOOR, ...MESSAGE, ...ENVELOPE, ...METHOD, ...named(prefix, suffix)];
}
