// Are refusals told to a legacy client in words and codes that its revision has? (protocol.md §1.11, §5.3, design §8)

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Refusal } from '../../../src/errors.ts';
import { call, open, post, request, verb } from './client.ts';
import { createWorld, ROUTE, type World } from './replicas.ts';

let world: World;
let session: string;
before(async () => {
  world = await createWorld('memory');
  session = await open(world.replicas[0]);
});
after(() => world.close());

interface Rpc {
  readonly result?: { isError?: boolean; content?: { text: string }[]; _meta?: Record<string, unknown> };
  readonly error?: { code: number; message: string; data?: Record<string, unknown> };
}

async function refused(refusal: Refusal, body: unknown): Promise<Rpc> {
  world.upstream.answer = async () => ({ kind: 'refusal', refusal });
  const answer = await post(world.replicas[0], body, { session });
  assert.equal(answer.status, 200);
  return (await answer.json()) as Rpc;
}

const CODES: readonly [id: string, refusal: Refusal, code: number][] = [
  ['a missing resource is -32002', { reason: 'unknown-resource', data: '{"uri":"a:b"}' }, -32002],
  ['a bad cursor is -32602', { reason: 'bad-cursor' }, -32602],
  ['an unoffered method is -32601', { reason: 'unknown-method' }, -32601],
  ['a lacking capability is -32603', { reason: 'capability', data: '{"requiredCapabilities":{}}' }, -32603],
  ['a header mismatch is never shown', { reason: 'header-mismatch' }, -32603],
  ['a revision is never shown', { reason: 'revision' }, -32603],
  ['GB-096: an application code passes', { reason: 'upstream', code: 1001, data: '{"field":"x"}' }, 1001],
  ['GB-096: the original legacy code passes', { reason: 'upstream', code: -32603, legacyCode: -32042 }, -32042],
  ['no pool manager is 10001', { reason: 'unavailable' }, 10001],
  ['too many in flight is 10009', { reason: 'too-many' }, 10009],
];

for (const [id, refusal, code] of CODES) {
  test(`${id}, at HTTP 200`, async () => {
    const { error } = await refused(refusal, request(1, 'resources/read', { uri: 'a:b' }));
    assert.equal(error?.code, code);
    // An upstream's own data is not added to.
    if (refusal.reason !== 'upstream') assert.equal(typeof error?.data?.['lockkeeper/exchange'], 'string');
    else if (refusal.data !== undefined) assert.deepEqual(error?.data, JSON.parse(refusal.data));
    if (refusal.data?.includes('uri') === true) assert.equal(error?.data?.uri, 'a:b');
  });
}

for (const reason of ['timeout', 'lost', 'start-failed', 'busy', 'unavailable', 'capability'] as const) {
  test(`GB-097: ${reason} of a tool call is a result that the model can read`, async () => {
    const { result } = await refused({ reason, message: 'It happened.' }, call(1, 't'));
    assert.equal(result?.isError, true);
    assert.match(result?.content?.[0]?.text ?? '', /^It happened\./);
    assert.equal(result?._meta?.['lockkeeper/reason'], reason);
  });
}

test('GB-097: an unknown tool stays an error', async () => {
  assert.equal((await refused({ reason: 'unknown-name' }, call(1, 't'))).error?.code, -32602);
});

test('GB-063: a question that cannot be passed on is no result, and nothing stays parked', async () => {
  world.upstream.answer = async () => ({
    kind: 'result',
    resultType: 'input_required',
    members: new TextEncoder().encode('"inputRequests":{"k":{"method":"roots/list"}}'),
  });
  const answer = await post(world.replicas[0], call(1, 't'), { session });
  const { result } = (await answer.json()) as Rpc;
  assert.equal(result?.isError, true);
  assert.equal(JSON.stringify(result).includes('inputRequests'), false);
  assert.equal(world.upstream.cancelled.at(-1), world.upstream.seen.at(-1)?.exchange.xid);
});

test('a walk that throws is -32603, and the next call is served', async () => {
  world.upstream.answer = async () => {
    throw new Error('secret words');
  };
  const text = await (await post(world.replicas[0], call(1, 't'), { session })).text();
  assert.match(text, /-32603/);
  assert.equal(text.includes('secret'), false);
});

test('each request leaves one row in the record', async () => {
  world.upstream.audit.length = 0;
  await refused({ reason: 'timeout' }, call(1, 't'));
  await (await post(world.replicas[0], request(2, 'ping'), { session })).text();
  assert.deepEqual(
    world.upstream.audit.map(({ method, outcome }) => [method, outcome]),
    [
      ['tools/call', 'timeout'],
      ['ping', 'ok'],
    ],
  );
});

const MESSAGES = `${ROUTE.path.slice(0, -'mcp'.length)}messages?sessionId=nobody`;

test('so does one that is refused before it is a call, under the id that it is answered with', async () => {
  const replica = world.replicas[0];
  const to = { session };
  for (const [outcome, asked] of [
    ['session-unknown', () => post(replica, request(1, 'ping'), { session: 'x'.repeat(session.length) })],
    ['session-unknown', () => post(replica, request(1, 'ping'), { ...to, user: 'acme/mallory/ide' })],
    ['session-missing', () => post(replica, request(1, 'resources/subscribe', { uri: 'a:b' }), {})],
    ['session-unknown', () => verb('GET', replica, { ...to, user: 'acme/mallory/ide' })],
    ['session-unknown', () => verb('DELETE', replica, { ...to, user: 'acme/mallory/ide' })],
    ['session-unknown', () => post(replica, request(1, 'ping'), { path: MESSAGES })],
    ['invalid-request', () => post(replica, request(1, 'ping'), { ...to, version: '2024-11-05' })],
    ['not-acceptable', () => post(replica, request(1, 'ping'), { ...to, accept: 'text/html' })],
  ] as const) {
    world.upstream.audit.length = 0;
    const answer = await asked();
    const { error } = (await answer.json()) as Rpc;
    assert.ok(answer.status >= 400, outcome);
    const [only, ...others] = world.upstream.audit;
    assert.deepEqual([only?.outcome, only?.xid, others], [outcome, error?.data?.['lockkeeper/exchange'], []]);
  }
});

test('a row of what was refused before it is a call says how much of its body was read', async () => {
  const replica = world.replicas[0];
  const version = '2024-11-05';
  const bodies = [request(1, 'ping'), [request(1, 'ping'), request(2, 'ping')]].map((body) => JSON.stringify(body));
  for (const body of bodies) {
    world.upstream.audit.length = 0;
    await (await post(replica, body, { session, version })).text();
    assert.deepEqual(
      world.upstream.audit.map(({ bytesIn }) => bytesIn),
      [body.length],
    );
  }
  world.upstream.audit.length = 0;
  await (await verb('DELETE', replica, { session: 'x'.repeat(session.length) })).text();
  assert.deepEqual(
    world.upstream.audit.map(({ bytesIn }) => bytesIn),
    [0],
  );
});
