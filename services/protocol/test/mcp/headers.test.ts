// Header values, Mcp-Param and names: tables from protocol.md §2.3 and §5.7.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { decodeHeaderValue, encodeHeaderValue } from '@lockkeeper/protocol/mcp/headers';
import { aggregateName, splitUri, suffixUri } from '@lockkeeper/protocol/mcp/names';
import {
  checkParamHeaders,
  makeParamHeaders,
  paramHeaders,
  stripParamHeaders,
} from '@lockkeeper/protocol/mcp/param-headers';
import fc from 'fast-check';

test('plain ASCII goes as it is; anything HTTP would change goes in the sentinel', () => {
  const rows: [string, string][] = [
    ['us-west1', 'us-west1'],
    ['a b', 'a b'],
    ['', '=?base64??='],
    [' padded', '=?base64?IHBhZGRlZA==?='],
    ['日本', '=?base64?5pel5pys?='],
    ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
    ['line\nbreak', '=?base64?bGluZQpicmVhaw==?='],
  ];
  for (const [value, header] of rows) assert.equal(encodeHeaderValue(value), header);
});

test('GB-047 GB-048 what is encoded decodes to the same value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      fc.pre(value.isWellFormed());
      assert.equal(decodeHeaderValue(encodeHeaderValue(value)), value);
    }),
  );
});

test('a sentinel with bad base64 or bad UTF-8 is null; what only looks like one is literal', () => {
  for (const bad of ['=?base64?x?=', '=?base64?eA=?=', '=?base64?e A==?=', '=?base64?_w==?=', '=?base64?/w==?=']) {
    assert.equal(decodeHeaderValue(bad), null, bad);
  }
  for (const literal of ['=?BASE64?eA==?=', '=?base64?eA==', 'eA==?=', '=?base64?=']) {
    assert.equal(decodeHeaderValue(literal), literal);
  }
});

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    n: { type: 'integer', 'x-mcp-header': 'Count' },
    deep: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
    default: { type: 'string' },
  },
};

test('annotations are found through chains of properties only', () => {
  const found = paramHeaders(schema);
  assert.deepEqual(found, {
    kind: 'ok',
    headers: [
      { header: 'region', path: ['region'], type: 'string' },
      { header: 'count', path: ['n'], type: 'integer' },
      { header: 'flag', path: ['deep', 'flag'], type: 'boolean' },
    ],
  });
});

test('a definition is invalid for each of the reasons the specification gives', () => {
  const prop = (p: object) => ({ type: 'object', properties: { a: p } });
  const rows: [string, unknown][] = [
    ['empty name', prop({ type: 'string', 'x-mcp-header': '' })],
    ['not a token', prop({ type: 'string', 'x-mcp-header': 'My Region' })],
    ['not a string', prop({ type: 'string', 'x-mcp-header': 5 })],
    ['number', prop({ type: 'number', 'x-mcp-header': 'N' })],
    ['object', prop({ type: 'object', 'x-mcp-header': 'N' })],
    ['no type', prop({ 'x-mcp-header': 'N' })],
    ['items', prop({ type: 'array', items: { type: 'string', 'x-mcp-header': 'N' } })],
    ['oneOf', prop({ oneOf: [{ type: 'string', 'x-mcp-header': 'N' }] })],
    ['$defs', { ...prop({}), $defs: { x: { type: 'string', 'x-mcp-header': 'N' } } }],
    ['items below properties named default', prop({ items: { properties: { default: { 'x-mcp-header': 'N' } } } })],
    [
      'same name twice, ignoring case',
      {
        properties: {
          a: { type: 'string', 'x-mcp-header': 'N' },
          b: { type: 'string', 'x-mcp-header': 'n' },
        },
      },
    ],
  ];
  for (const [why, s] of rows) assert.equal(paramHeaders(s).kind, 'invalid', why);
  assert.equal(paramHeaders(prop({ type: 'string', default: { 'x-mcp-header': 'N' } })).kind, 'ok');
  assert.equal(paramHeaders({}).kind, 'ok');
});

test('headers must mirror the arguments, each way round', () => {
  const found = paramHeaders(schema);
  assert.ok(found.kind === 'ok');
  const check = (args: unknown, sent: Record<string, string>) =>
    checkParamHeaders(found.headers, args, new Map(Object.entries(sent)));
  assert.equal(check({ region: 'eu', n: 42 }, { region: 'eu', count: '42.0' }), null);
  assert.equal(check({ region: 'é' }, { region: '=?base64?w6k=?=' }), null);
  assert.equal(check({ region: '' }, { region: '' }), null);
  assert.equal(check({ deep: { flag: false } }, { flag: 'false' }), null);
  assert.equal(check({ region: null }, {}), null);
  assert.match(check({ region: 'eu' }, {})!, /missing/);
  assert.match(check({ region: 'eu' }, { region: 'us' })!, /does not match/);
  assert.match(check({ region: 'eu' }, { region: 'EU' })!, /does not match/);
  assert.match(check({}, { region: 'eu' })!, /absent/);
  assert.match(check({ region: 'x' }, { region: '=?base64?x?=' })!, /base64/);
  assert.match(check({ n: 1 }, { count: '' })!, /does not match/);
  const made = makeParamHeaders(found.headers, { region: 'é', n: 3, deep: { flag: true } });
  assert.deepEqual(Object.fromEntries(made), {
    'mcp-param-region': '=?base64?w6k=?=',
    'mcp-param-count': '3',
    'mcp-param-flag': 'true',
  });
});

test('stripping takes the keyword out and nothing else', () => {
  const strip = (text: string) => new TextDecoder().decode(stripParamHeaders(bytesOf(text)));
  assert.equal(
    strip(
      '{"name":"t","big":12345678901234567890,"inputSchema":{"properties":{"a":{"x-mcp-header":"A","type":"string"},"b":{"type":"string", "x-mcp-header":"B"},"c":{"x-mcp-header":"C"}}}}',
    ),
    '{"name":"t","big":12345678901234567890,"inputSchema":{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{}}}}',
  );
  const kept =
    '{"name":"t","inputSchema":{"properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":"A"}}}';
  assert.equal(strip(kept), kept);
});

test('GB-123 aggregate names stay within 64 characters and stay apart', () => {
  assert.equal(aggregateName('git', 'log'), 'git__log');
  const long = 'x'.repeat(80);
  const a = aggregateName('server', `${long}a`);
  const b = aggregateName('server', `${long}b`);
  assert.equal(a.length, 64);
  assert.notEqual(a, b);
  assert.match(a, /^[A-Za-z0-9_-]+$/);
});

test('GB-094 a suffixed URI reads back on any replica', () => {
  for (const uri of ['file:///a', 'https://x/y?z=1', 'ui://w/#frag', 'test://t/{id}/data', 'x:#lk.other']) {
    assert.deepEqual(splitUri(suffixUri(uri, 'srv')), { uri, server: 'srv' });
  }
  for (const foreign of ['file:///a', 'file:///a#frag', 'file:///a&lk.srv', 'file:///a#lk.']) {
    assert.equal(splitUri(foreign), null, foreign);
  }
  assert.equal(suffixUri('ui://w/#frag', 'srv'), 'ui://w/#frag&lk.srv');
});
