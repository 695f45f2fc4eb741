// Rungs #1 to #10 of protocol.md §2.1: may this page, this name and this body be read at all, and is it one message?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bare, climb, envelope, type Row, rig } from './ladder.ts';
import { modernParts, send } from './rig.ts';

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
];

climb(ROWS);

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
