// When does a call become a task, and what is it from then on? The dispatcher below is scripted, so each case is about
// the one thing that happens to it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALICE, BOB } from '../raise/fake.ts';
import { OFFER, type Stage, stage } from './stage.ts';

const CALL = '"name":"t","arguments":{}';
const text = (words: string) => Buffer.from(`"content":[{"type":"text","text":"${words}"}]`);

async function promoted(s: Stage, more = {}) {
  const call = s.open('tools/call', { task: OFFER, xid: 'x', ...more }, CALL);
  s.opened[0]!.reply.started();
  await s.advance(1_000);
  return call;
}

const keysOf = (s: Stage) => Object.keys((s.get('handle-1').value?.inputRequests ?? {}) as object);

const asks = (s: Stage, of: number, questions: object, state: string, asked?: Record<string, number>) =>
  s.opened[of]!.reply.result(
    { resultType: 'input_required', state, ...(asked === undefined ? {} : { origin: { asked } }) },
    Buffer.from(`"inputRequests":${JSON.stringify(questions)}`),
  );

test('a call that ends in time is answered as a call', async () => {
  const s = stage();
  const call = s.open('tools/call', { task: OFFER }, CALL);
  s.opened[0]!.reply.started();
  await s.advance(999);
  s.opened[0]!.reply.result({ resultType: 'complete' }, text('done'));
  await s.advance(10_000);
  assert.equal(call.result?.resultType, 'complete');
  assert.equal(s.tasks.size, 0);
});

test('time in the queue does not count: only what has started can become a task', async () => {
  const s = stage();
  const call = s.open('tools/call', { task: OFFER }, CALL);
  await s.advance(30_000);
  assert.equal(call.result, undefined);
});

test('a call that asked something has left this stream, and stays a call', async () => {
  const s = stage();
  const call = s.open('tools/call', { task: OFFER }, CALL);
  s.opened[0]!.reply.started();
  asks(s, 0, { q: { method: 'roots/list' } }, 's1', { q: 1 });
  await s.advance(10_000);
  assert.equal(call.result?.resultType, 'input_required');
  assert.equal(s.tasks.size, 0);
});

test('a long call is answered with a task, flat and without payload, and has its ttl from then on', async () => {
  const s = stage();
  const call = await promoted(s);
  assert.equal(call.result?.resultType, 'task');
  assert.deepEqual(Object.keys(call.value ?? {}), [
    'taskId',
    'status',
    'createdAt',
    'lastUpdatedAt',
    'ttlMs',
    'pollIntervalMs',
  ]);
  assert.equal(call.value?.taskId, 'handle-1');
  assert.equal(call.value?.status, 'working');
  assert.equal(call.value?.ttlMs, 60_000);
  assert.equal(s.opened[0]!.prolonged, 60_000);
});

test('its client may leave, and nobody is sent its progress', async () => {
  const s = stage();
  const call = await promoted(s);
  s.opened[0]!.reply.event('notifications/progress', text('x'));
  call.stream.vanished('close');
  assert.deepEqual(call.events, []);
  assert.deepEqual(s.opened[0]!.left, []);
});

test('a client that leaves before that takes its call with it', async () => {
  const s = stage();
  const call = s.open('tools/call', { task: OFFER }, CALL);
  s.opened[0]!.reply.started();
  call.stream.vanished('close');
  await s.advance(10_000);
  assert.deepEqual(s.opened[0]!.left, ['close']);
  assert.equal(s.tasks.size, 0);
});

test('its end is written to the store, with vendor _meta, and forgotten here', async () => {
  const s = stage();
  await promoted(s);
  s.opened[0]!.reply.result({ resultType: 'complete', meta: '"acme/x":1' }, text('done'));
  const end = await s.end('handle-1');
  assert.equal(end?.status, 'completed');
  assert.deepEqual(end?.result, { _meta: { 'acme/x': 1 }, content: [{ type: 'text', text: 'done' }] });
  assert.equal(s.get('handle-1').fault?.reason, 'unknown-exchange');
  await s.tasks.idle();
});

test('a result too large for the store stays with the node as long as the task may be asked for', async () => {
  const s = stage();
  await promoted(s);
  s.opened[0]!.reply.result({ resultType: 'complete' }, text('y'.repeat(1024 * 1024)));
  assert.equal(await s.end('handle-1'), null);
  assert.equal(s.get('handle-1').value?.status, 'completed');
  await s.advance(70_000);
  assert.equal(s.get('handle-1').fault?.reason, 'unknown-exchange');
});

test('a fault of its call is kept for the gateway to word', async () => {
  const s = stage();
  await promoted(s);
  s.opened[0]!.reply.fault({ reason: 'upstream', code: -32000, message: 'no', mayHaveRun: true });
  const end = await s.end('handle-1');
  assert.equal(end?.status, 'failed');
  assert.deepEqual(end?.['lk/fault'], { reason: 'upstream', code: -32000, message: 'no', mayHaveRun: true });
});

test('another person’s request about it finds nothing', async () => {
  const s = stage();
  await promoted(s, { principal: ALICE });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const said = s.open(method, { name: 'handle-1', principal: BOB });
    assert.equal(said.fault?.reason, 'unknown-exchange', method);
    const other = s.open(method, { name: 'handle-1', principal: { ...ALICE, client: 'another' } });
    assert.equal(other.fault?.reason, 'unknown-exchange', method);
  }
  assert.equal(s.get('handle-1', { principal: ALICE }).value?.status, 'working');
});

test('cancelled, it is cancelled at once, and its call is told; a late result is nobody’s', async () => {
  const s = stage();
  await promoted(s);
  s.open('tasks/cancel', { name: 'handle-1' });
  assert.deepEqual(s.cancelled, ['x']);
  s.opened[0]!.reply.result({ resultType: 'complete' }, text('late'));
  const end = await s.end('handle-1');
  assert.equal(end?.status, 'cancelled');
  assert.equal(end?.result, undefined);
});

test('it ends at its time to live, and so does its call', async () => {
  const s = stage();
  await promoted(s);
  await s.advance(60_000);
  assert.equal((await s.end('handle-1'))?.status, 'failed');
  assert.deepEqual(s.cancelled, ['x']);
});

test('held questions show under fresh keys; answers go down under the exchange’s own, with its state', async () => {
  const s = stage();
  await promoted(s);
  asks(s, 0, { k: { method: 'roots/list' } }, 'x.1.n', { k: 1 });
  const [listening] = s.opened.slice(1);
  assert.equal(listening?.head.wait, true);
  assert.equal(listening?.head.state, 'x.1.n');
  const { value } = s.get('handle-1');
  assert.equal(value?.status, 'input_required');
  assert.deepEqual(value?.inputRequests, { 'input-1': { method: 'roots/list' } });
  s.open('tasks/update', { name: 'handle-1' }, '"inputResponses":{"input-1":{"roots":[]},"k":{"roots":[]}}');
  const retry = s.opened.at(-1)!;
  assert.equal(retry.head.state, 'x.1.n');
  assert.equal(retry.head.xid, 'x');
  assert.equal(retry.body, `${CALL},"inputResponses":{"k":{"roots":[]}}`);
  assert.equal(s.get('handle-1').value?.status, 'working');
});

test('the same question keeps its key through rounds; asked anew it gets another', async () => {
  const s = stage();
  await promoted(s);
  asks(s, 0, { a: { method: 'roots/list' }, b: { method: 'roots/list' } }, 'x.1.n', { a: 1, b: 1 });
  assert.deepEqual(keysOf(s), ['input-1', 'input-2']);
  asks(s, 1, { b: { method: 'roots/list' } }, 'x.2.n', { b: 1 });
  assert.deepEqual(keysOf(s), ['input-2']);
  asks(s, 2, { b: { method: 'roots/list' } }, 'x.3.n', { b: 3 });
  assert.deepEqual(keysOf(s), ['input-3']);
});

test('questions that nobody answered in time end it, without anybody asking', async () => {
  const s = stage();
  await promoted(s);
  asks(s, 0, { k: { method: 'roots/list' } }, 'x.1.n', { k: 1 });
  s.opened[1]!.reply.fault({ reason: 'timeout', code: -32603, message: 'nobody answered', mayHaveRun: true });
  assert.equal((await s.end('handle-1'))?.status, 'failed');
});

test('a modern server is called again once, when all of its questions are answered', async () => {
  const s = stage();
  await promoted(s);
  asks(s, 0, { a: { method: 'roots/list' }, b: { method: 'roots/list' } }, 'its own');
  s.open('tasks/update', { name: 'handle-1' }, '"inputResponses":{"input-1":{"roots":[]}}');
  assert.equal(s.opened.length, 1);
  s.open('tasks/update', { name: 'handle-1' }, '"inputResponses":{"input-2":{"roots":[1]}}');
  assert.equal(s.opened.length, 2);
  assert.equal(s.opened[1]!.head.state, 'its own');
  assert.equal(s.opened[1]!.body, `${CALL},"inputResponses":{"a":{"roots":[]},"b":{"roots":[1]}}`);
  s.opened[1]!.reply.result({ resultType: 'complete' }, text('done'));
  assert.equal((await s.end('handle-1'))?.status, 'completed');
});

test('a server that gives only a state is asked again after a pause, not in a circle', async () => {
  const s = stage();
  await promoted(s);
  s.opened[0]!.reply.result({ resultType: 'input_required', state: 'more' }, Buffer.from(''));
  assert.equal(s.opened.length, 1);
  await s.advance(1_000);
  assert.equal(s.opened.length, 2);
  assert.equal(s.opened[1]!.head.state, 'more');
});

test('an earlier seal of its exchange returns it, for its owner', async () => {
  const s = stage();
  await promoted(s);
  const again = s.open('tools/call', { xid: 'x', state: 'x.1.n', task: { ...OFFER, id: 'handle-2' } });
  assert.equal(again.result?.resultType, 'task');
  assert.equal(again.value?.taskId, 'handle-1');
  const foreign = s.open('tools/call', { xid: 'x', state: 'x.1.n', principal: BOB });
  assert.equal(foreign.result, undefined);
  assert.equal(s.opened.length, 2);
});

test('the sixth round of questions is the last that its call asks', async () => {
  const s = stage();
  for (let round = 1; round <= 6; round++) {
    const call = s.open(
      'tools/call',
      { xid: 'x', state: `x.${round}.n`, task: { ...OFFER, promoteAfterMs: null } },
      CALL,
    );
    s.opened.at(-1)!.reply.accepted();
    await s.advance(0);
    assert.equal(call.result?.resultType, round < 6 ? undefined : 'task', `round ${round}`);
    if (round < 6) asks(s, s.opened.length - 1, { q: { method: 'roots/list' } }, 's', { q: round });
  }
});

test('a person has only so many: the next call stays a call, and its server is told of no tasks', async () => {
  const s = stage({ maxPerPrincipal: 1 });
  await promoted(s);
  const second = s.open('tools/call', { xid: 'y', task: { ...OFFER, id: 'handle-2' } }, CALL);
  assert.equal(s.opened[1]!.head.task, undefined);
  s.opened[1]!.reply.started();
  await s.advance(10_000);
  assert.equal(second.result, undefined);
  const other = s.open('tools/call', { xid: 'z', principal: BOB, task: { ...OFFER, id: 'handle-3' } }, CALL);
  s.opened[2]!.reply.started();
  await s.advance(1_000);
  assert.equal(other.result?.resultType, 'task');
});

test('a legacy server’s own task needs no waiting, and its ttl counts if it is less', async () => {
  const s = stage();
  const call = s.open('tools/call', { task: { ...OFFER, promoteAfterMs: null } }, CALL);
  s.opened[0]!.reply.started();
  s.opened[0]!.reply.tasked?.({ ttlMs: 5_000, pollIntervalMs: 700, statusMessage: 'on it' });
  assert.equal(call.value?.ttlMs, 5_000);
  assert.equal(call.value?.pollIntervalMs, 700);
  assert.equal(call.value?.statusMessage, 'on it');
});

test('a node that ends says of each what became of it', async () => {
  const s = stage();
  await promoted(s);
  await s.tasks.close('drained');
  const end = await s.end('handle-1');
  assert.equal((end!['lk/fault'] as { reason: string }).reason, 'lost');
});
