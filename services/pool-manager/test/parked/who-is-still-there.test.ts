// What becomes of a call whose people or links go away, and when is its server told (design §4 amendments 4 to 6)?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type Stage, stage } from '../dispatch/stage.ts';
import { manualClock } from '../listen/manual-clock.ts';
import { legacyServer, ok, type Script, type Sent } from '../raise/fake.ts';
import { ALL, asking, elicit, FORM, GREEN, retry, sample, shown, write } from './asking.ts';

const LEGACY = { downstreamEra: 'legacy', onVanish: 'keep', session: 'sess' } as const;

function told(s: Stage): (string | undefined)[] {
  return s.children[0]!.received.map((m) => m.method ?? `answer ${m.id}`);
}

test('timeout: first the call is cancelled, then each open question answered; a later retry is told to start over', async () => {
  const s = stage({
    scripts: [asking(elicit(1), sample(2), { id: 3, method: 'roots/list' })],
    asks: true,
    limits: { humanMs: 60 },
  });
  const call = s.open('tools/call', { capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  await eventually(() => told(s).includes('answer 3'));
  assert.deepEqual(told(s).slice(-4), ['notifications/cancelled', 'answer 1', 'answer 2', 'answer 3']);
  const child = s.children[0]!;
  const answer = (id: number) => child.received.find((m) => m.id === id && m.method === undefined);
  assert.deepEqual(answer(1)?.result, { action: 'cancel' });
  assert.equal(answer(2)?.error?.code, -1);
  assert.equal(answer(3)?.error?.code, -32603);
  assert.equal(s.dispatcher.size, 0);
  const late = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.equal(late.fault?.reason, 'unknown-exchange');
  await s.end();
});

test('people have their own time: what they take is not the call’s', async () => {
  const clock = manualClock();
  const s = stage({ scripts: [asking(elicit(1))], asks: true, spec: { callTimeoutMs: 150 }, deps: { clock } });
  const call = s.open('tools/call', { capabilities: FORM, deadlineMs: 150 });
  const { state, keys } = shown(await call.ended);
  await clock.advance(30_000);
  const { value } = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN });
  await s.end();
});

test('the call’s own time goes on with the answer', async () => {
  const deaf: Script = legacyServer((m, child) => {
    if (m.method === 'tools/call') write(child, elicit(1));
    return m.method === 'tools/call' || m.method === undefined;
  });
  const s = stage({ scripts: [deaf], asks: true, spec: { callTimeoutMs: 100 } });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const { fault } = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.equal(fault?.reason, 'timeout');
  assert.equal(told(s).at(-1), 'notifications/cancelled');
  await s.end();
});

test('close: after the question was delivered the closing is normal; the last waiter’s closing while it runs cancels', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit('never'))], asks: true });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  call.stream.vanished('close');
  assert.equal(s.dispatcher.size, 1);
  shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  const child = s.children[0]!;
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'never' } });
  const [a, b] = [retry(s, call, state, null), retry(s, call, state, null)];
  a.stream.vanished('close');
  assert.equal(s.dispatcher.size, 1);
  b.stream.vanished('close');
  assert.equal((await b.ended).fault?.reason, 'cancelled');
  await eventually(() => told(s).includes('notifications/cancelled'));
  assert.equal(s.dispatcher.size, 0);
  await s.end();
});

test('a link that breaks cancels in round 0; in a later round the call waits for its seal to come back', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true, deps: { rejoinMs: 60 } });
  const early = s.open('tools/call', { capabilities: FORM });
  await eventually(() => s.children[0]?.methods().includes('tools/call') === true);
  early.stream.vanished('break');
  assert.equal((await early.ended).fault?.reason, 'cancelled');
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const child = s.children[0]!;
  await retry(s, call, state, { [keys[0]!]: GREEN, [keys[1]!]: GREEN }).ended;
  const next = s.open('tools/call', { capabilities: FORM });
  const again = shown(await next.ended);
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  const broken = retry(s, next, again.state, null);
  broken.stream.vanished('break');
  const back = retry(s, next, again.state, null);
  back.stream.vanished('break');
  assert.equal(s.dispatcher.size, 1);
  await eventually(() => s.dispatcher.size === 0);
  await s.end();
});

test('a caller to be kept is kept until the deadline, and hears of the end when it joins again', async () => {
  let call: Sent | null = null;
  const slow = legacyServer((m) => {
    if (m.method === 'tools/call') call = m;
    return m.method === 'tools/call';
  });
  const s = stage({ scripts: [slow], asks: true });
  const first = s.open('tools/call', LEGACY);
  await eventually(() => call !== null);
  first.stream.vanished('break');
  const child = s.children[0]!;
  const log = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: call!.id, progress: 1 } };
  child.write(log);
  ok(child, call!, { content: [] });
  await eventually(() => s.dispatcher.size === 0);
  const joined = s.open('tools/call', { ...LEGACY, xid: first.head.xid, wait: true });
  assert.deepEqual((await joined.ended).value, { content: [] });
  await s.end();
});

test('who joins is told what he missed, by number; without anybody only the last progress is kept', async () => {
  let call: Sent | null = null;
  const slow = legacyServer((m) => {
    if (m.method === 'tools/call') call = m;
    return m.method === 'tools/call';
  });
  const s = stage({ scripts: [slow], asks: true });
  const first = s.open('tools/call', { ...LEGACY, progress: true });
  await eventually(() => call !== null);
  const child = s.children[0]!;
  const progress = (n: number) =>
    child.write({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: call!.id, progress: n } });
  progress(1);
  first.stream.vanished('break');
  progress(2);
  progress(3);
  const joined = s.open('tools/call', { ...LEGACY, xid: first.head.xid, wait: true, fromSeq: 1 });
  ok(child, call!, { content: [] });
  const { events } = await joined.ended;
  assert.deepEqual(events, [{ method: 'notifications/progress', members: { progress: 3 }, seq: 3 }]);
  await s.end();
});

test('wait: resolves with each question for a legacy caller at once, with its withdrawal, and with the outcome', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const call = s.open('tools/call', { ...LEGACY, capabilities: FORM });
  const one = shown(await call.ended);
  assert.equal(one.keys.length, 1);
  const child = s.children[0]!;
  const both = shown(await retry(s, call, one.state, null, { wait: true }).ended);
  assert.deepEqual(both.keys.length, 2);
  const waiting = retry(s, call, both.state, null, { wait: true });
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  const left = await waiting.ended;
  assert.deepEqual(shown(left).keys, one.keys);
  assert.deepEqual(left.result?.origin?.asked, { [one.keys[0]!]: 1 });
  const outcome = retry(s, call, shown(left).state, null, { wait: true });
  const answer = retry(s, call, shown(left).state, { [one.keys[0]!]: GREEN });
  await eventually(() => told(s).includes('answer 1'));
  ok(child, child.received.find((m) => m.method === 'tools/call')!, { content: [] });
  assert.deepEqual((await outcome.ended).value, { content: [] });
  const answered = await answer.ended;
  assert.deepEqual([answered.value, answered.accepted], [{ content: [] }, true]);
  await s.end();
});

test('wait: when the only question is withdrawn, the empty set says so', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  const call = s.open('tools/call', { ...LEGACY, capabilities: FORM });
  const one = shown(await call.ended);
  const waiting = retry(s, call, one.state, null, { wait: true });
  s.children[0]!.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  const empty = shown(await waiting.ended);
  assert.deepEqual(empty.keys, []);
  // The one who asks with the older round is told too; the one who knows waits for what comes.
  assert.equal(shown(await retry(s, call, one.state, null, { wait: true }).ended).state, empty.state);
  const outcome = retry(s, call, empty.state, null, { wait: true });
  const child = s.children[0]!;
  ok(child, child.received.find((m) => m.method === 'tools/call')!, { content: [] });
  assert.deepEqual((await outcome.ended).value, { content: [] });
  await s.end();
});

test('a question with a progress token hears that somebody is at it', async () => {
  const paced = elicit(1, 'Which?', { _meta: { progressToken: 'p7' } });
  const s = stage({ scripts: [asking(paced)], asks: { timings: { pacingMs: 10 } } });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys, requests } = shown(await call.ended);
  assert.equal('_meta' in requests[keys[0]!]!.params!, false);
  const paces = () => s.children[0]!.received.filter((m) => m.method === 'notifications/progress');
  await eventually(() => paces().length >= 2);
  assert.deepEqual(
    paces()
      .slice(0, 2)
      .map((m) => m.params),
    [
      { progressToken: 'p7', progress: 1 },
      { progressToken: 'p7', progress: 2 },
    ],
  );
  await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  await s.end();
});

test('drain: questions are answered cancel, the call is lost; retries are let in until then, new calls are not', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  s.dispatcher.drain();
  assert.equal((await s.open('tools/call').ended).fault?.reason, 'draining');
  shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  await eventually(() => told(s).includes('answer 1'));
  let idle = false;
  const done = s.dispatcher.idle().then(() => {
    idle = true;
  });
  s.dispatcher.close('drained');
  await done;
  assert.ok(idle);
  assert.deepEqual(told(s).slice(-2), ['notifications/cancelled', 'answer 2']);
  const { fault } = await retry(s, call, state, { [keys[1]!]: GREEN }).ended;
  assert.deepEqual([fault?.reason, fault?.message, fault?.mayHaveRun], ['lost', 'drained', true]);
  await s.end();
});

test('crash: a process that dies with a question open loses the call; the retry says so and nothing is run again', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  s.children[0]!.exit();
  await eventually(() => s.dispatcher.size === 0);
  const { fault } = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual([fault?.reason, fault?.mayHaveRun], ['lost', true]);
  assert.equal(s.children.length, 1);
  await s.end();
});

test('a node under a new incarnation loses what was asked under the old one, and leaves the rest alone', async () => {
  const s = stage({ scripts: [asking(elicit(1)), asking(elicit(2))], asks: true, spec: { isolation: 'exclusive' } });
  const call = s.open('tools/call', { capabilities: FORM });
  shown(await call.ended);
  const running = s.open('tools/call', { capabilities: FORM });
  await eventually(() => s.children[1]?.methods().includes('tools/call') === true);
  s.dispatcher.reborn('away');
  assert.deepEqual(told(s).slice(-2), ['notifications/cancelled', 'answer 1']);
  assert.equal(s.dispatcher.size, 1);
  shown(await running.ended);
  await s.end();
});
