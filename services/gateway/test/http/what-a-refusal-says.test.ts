// The catalogue, its page for readers, and what both legs render from it (design §8, protocol.md §2.12).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { refusalFor } from '../../src/auth/challenge.ts';
import { CATALOGUE, type Reason, row } from '../../src/errors.ts';
import { refusesAsResult, renderError, renderErrorText, toolErrorMembers } from '../../src/http/refuse.ts';

const reasons = Object.keys(CATALOGUE) as Reason[];
const parse = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;

/** protocol.md §2.12; -32603 and the parse and request errors of JSON-RPC beside it. */
const ALLOWED = [-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022];

test('every code is one a modern client may see, or ours from 10000', () => {
  for (const reason of reasons) {
    const { code } = row(reason);
    assert.ok(ALLOWED.includes(code) || (code >= 10000 && code < 20000), `${reason} ${code}`);
  }
});

test('our own codes are each used once', () => {
  const own = reasons.map((r) => row(r).code).filter((c) => c >= 10000);
  assert.equal(new Set(own).size, own.length);
});

test('the prescribed statuses stand', () => {
  const status = (reason: Reason) => row(reason).status;
  const pins: [Reason, number][] = [
    ['parse', 400],
    ['invalid-request', 400],
    ['header-mismatch', 400],
    ['envelope', 400],
    ['revision', 400],
    ['capability', 400],
    ['unknown-method', 404],
    ['invalid-params', 200],
    ['unknown-name', 200],
    ['unknown-resource', 200],
    ['bad-cursor', 200],
    ['bad-state', 200],
    ['origin', 403],
    ['verb', 405],
    ['media-type', 415],
    ['too-large', 413],
    ['not-acceptable', 406],
    ['too-many', 429],
    ['session-unknown', 404],
    ['no-token', 401],
    ['bad-token', 401],
    ['bad-credentials', 400],
    ['unreadable', 503],
    ['upstream', 200],
  ];
  for (const [reason, expected] of pins) assert.equal(status(reason), expected, reason);
});

test('a 406 names both forms: some answers are streams only, so either alone may be too little', () => {
  const { error } = parse(renderError({ reason: 'not-acceptable' }, undefined, 'x')) as { error: { message: string } };
  assert.match(error.message, /Send "Accept: application\/json, text\/event-stream"\.$/);
});

test('keys of an issuer that cannot be read are not called shared state', () => {
  const refusal = refusalFor('keys-unreadable', 5000);
  const { error } = parse(renderError(refusal, undefined, 'x')) as { error: { message: string; code: number } };
  assert.match(error.message, /^The keys of the token’s issuer cannot be read now/);
  assert.doesNotMatch(error.message, /state/);
  assert.deepEqual([error.code, refusal.retryAfterMs], [10010, 5000]);
});

test('ops/errors.md is this table', () => {
  const page = readFileSync(new URL('../../../../ops/errors.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| [a-z-]+ \| (client|operator|upstream|us) /.test(line));
  const expected = reasons.map((reason) => {
    const { blame, status, code, retry, toolResult } = row(reason);
    return `| ${reason} | ${blame} | ${status} | ${code} | ${retry} | ${toolResult === true ? 'result' : 'error'} |`;
  });
  assert.deepEqual(rows, expected);
});

test('an error names what happened, what to do next, and its exchange', () => {
  const message = parse(renderError({ reason: 'busy', message: 'Server X is busy.' }, 'a', 'xid-1'));
  assert.deepEqual(message, {
    jsonrpc: '2.0',
    id: 'a',
    error: {
      code: 10002,
      message: 'Server X is busy. Try again in a moment.',
      data: { 'lockkeeper/exchange': 'xid-1' },
    },
  });
});

test('data of a refusal keeps its bytes and gains the exchange', () => {
  const text = Buffer.from(renderErrorText({ reason: 'revision', data: ' {"requested" : 1.0} ' }, '1', 'x')).toString();
  assert.ok(text.includes('"data":{"requested" : 1.0,"lockkeeper/exchange":"x"}'), text);
  const empty = Buffer.from(renderErrorText({ reason: 'revision', data: '{}' }, '1', 'x')).toString();
  assert.ok(empty.includes('"data":{"lockkeeper/exchange":"x"}'), empty);
});

test('the id is left out, null, or as given', () => {
  const id = (value: string | number | null | undefined) => parse(renderError({ reason: 'parse' }, value, 'x'));
  assert.equal('id' in id(undefined), false);
  assert.equal(id(null).id, null);
  assert.equal(id(0).id, 0);
  assert.equal(id('').id, '');
});

test('a legacy caller sees the code of its own time, a modern one never does', () => {
  const refusal = { reason: 'unknown-resource', legacyCode: -32002 } as const;
  const code = (era: 'legacy' | 'modern') => (parse(renderError(refusal, 1, 'x', era)).error as { code: number }).code;
  assert.deepEqual([code('legacy'), code('modern')], [-32002, -32602]);
});

test('words of a stranger cannot break out of the message', () => {
  const nasty = 'a"}\u2028\n\u0000</script>';
  const message = parse(renderError({ reason: 'upstream', message: nasty }, 1, 'x')).error as { message: string };
  assert.equal(message.message, nasty);
  const { members, meta } = toolErrorMembers({ reason: 'lost', message: nasty }, 'x');
  const result = JSON.parse(`{${Buffer.from(members).toString()},"_meta":{${meta}}}`) as { isError: boolean };
  assert.equal(result.isError, true);
});

test('only tools/call turns a refusal into a result, and only of those that are one', () => {
  assert.equal(refusesAsResult('tools/call', { reason: 'lost' }), true);
  assert.equal(refusesAsResult('prompts/get', { reason: 'lost' }), false);
  assert.equal(refusesAsResult('tools/call', { reason: 'unknown-name' }), false);
});
