import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMember, membersOf, scan } from '@lockkeeper/protocol/json/scan';
import { paramsDigest } from '../../src/seal/digest.ts';
import { createSealRing } from '../../src/seal/ring.ts';
import { openState, type StateBinding, type StateRefusal, sealState } from '../../src/seal/state.ts';

const ring = createSealRing({ keys: { keys: [{ kid: 'a', key: 'k'.repeat(32) }] }, now: () => 1000 });
const alice = { tenant: 'acme', issuer: 'https://idp', subject: 'alice', client: 'app' };

function digest(params: string, method = 'tools/call'): string {
  const bytes = Buffer.from(`{"params":${params}}`);
  return paramsDigest(method, bytes, membersOf(bytes, findMember(scan(bytes).members, 'params')!));
}

const CALL = '{"name":"delete","arguments":{"id":7}}';
const binding: StateBinding = {
  tenant: 'acme',
  route: '/acme/mcp',
  principal: alice,
  method: 'tools/call',
  params: digest(CALL),
};
const content = {
  xid: 'x1',
  server: 's',
  digest: 'd',
  name: 'delete',
  era: 'legacy',
  node: 'n1',
  incarnation: 'i1',
  state: 'x1.1.nonce',
} as const;

test('GB-059: the honest retry gets exactly the inner state back, whatever characters it has', () => {
  for (const state of ['', ' ', 'é"\\', '{"a":1}', 'x'.repeat(8192), null]) {
    const sealed = sealState(ring, binding, { ...content, state }, 1000)!;
    assert.deepEqual(openState(ring, binding, sealed), { ...content, state });
  }
});

const foreign: [string, Partial<StateBinding>, StateRefusal][] = [
  ['another person', { principal: { ...alice, subject: 'bob' } }, 'foreign'],
  ['the same subject of another issuer', { principal: { ...alice, issuer: 'https://other' } }, 'foreign'],
  ['another client program', { principal: { ...alice, client: 'other' } }, 'foreign'],
  ['another tenant', { tenant: 'globex', principal: { ...alice, tenant: 'globex' } }, 'unreadable'],
  ['another route', { route: '/acme/other/mcp' }, 'unreadable'],
  ['another method', { method: 'prompts/get' }, 'other'],
  ['other arguments', { params: digest('{"name":"delete","arguments":{"id":8}}') }, 'other'],
  ['another tool', { params: digest('{"name":"drop","arguments":{"id":7}}') }, 'other'],
];

for (const [who, change, why] of foreign) {
  test(`GB-059: a state does not open for ${who}, and the operator is told: ${why}`, () => {
    const sealed = sealState(ring, binding, content, 1000)!;
    const told: StateRefusal[] = [];
    assert.equal(
      openState(ring, { ...binding, ...change }, sealed, (reason) => told.push(reason)),
      null,
    );
    assert.deepEqual(told, [why]);
  });
}

test('the digest does not see what changes between rounds, nor the order of keys', () => {
  const same = [
    CALL,
    '{"arguments":{"id":7},"name":"delete"}',
    '{ "name" : "delete", "arguments" : { "id" : 7 } }',
    '{"name":"delete","arguments":{"id":7},"_meta":{"progressToken":5}}',
    '{"name":"delete","arguments":{"id":7},"inputResponses":{"a":{}},"requestState":"x"}',
    '{"name":"del\\u0065te","arguments":{"id":7}}',
  ];
  for (const params of same) assert.equal(digest(params), digest(CALL), params);
});

test('the digest sees every other difference, down to numbers that a double cannot tell apart', () => {
  const texts = [
    CALL,
    '{"name":"delete","arguments":{"id":"7"}}',
    '{"name":"delete","arguments":{"id":"n7"}}',
    '{"name":"delete","arguments":{"id":9007199254740993}}',
    '{"name":"delete","arguments":{"id":9007199254740992}}',
    '{"name":"delete","arguments":{"id":[7]}}',
    '{"name":"delete","arguments":{"id":null}}',
    '{"name":"delete","arguments":{}}',
    '{"name":"delete"}',
    '{}',
  ];
  assert.equal(new Set(texts.map((t) => digest(t))).size, texts.length);
  assert.notEqual(digest(CALL, 'prompts/get'), digest(CALL));
});
