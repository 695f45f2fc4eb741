// Who may answer a parked call, how often, and what becomes of answers that come twice, late or in part? One test per
// row of protocol.md §5.5 as amended by design §4.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type Opened, type Stage, stage } from '../dispatch/stage.ts';
import { ALICE, BOB } from '../raise/fake.ts';
import { ALL, asking, elicit, FORM, GREEN, retry, type Shown, sample, shown, write } from './asking.ts';

const RED = { action: 'accept', content: { color: 'red' } };
const SAID = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' };

/** Answers of the server's questions that were written to the process. */
function written(s: Stage): unknown[] {
  return s.children[0]!.received.filter(
    (m) => m.method === undefined && (m.result !== undefined || m.error !== undefined),
  );
}

async function asked(s: Stage, capabilities = ALL): Promise<{ call: Opened } & Shown> {
  const call = s.open('tools/call', { capabilities });
  return { call, ...shown(await call.ended) };
}

test('dup: the same retry again while the call runs waits for the same result, and the answer is given once', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit('never'))], asks: true });
  const { call, state, keys } = await asked(s);
  const answers = { [keys[0]!]: GREEN, [keys[1]!]: GREEN };
  s.children[0]!.received.length = 0;
  const both = [retry(s, call, state, answers), retry(s, call, state, answers)];
  const [one, two] = await Promise.all(both.map((b) => b.ended));
  assert.equal(one?.result?.resultType, 'complete');
  assert.deepEqual(one?.value, two?.value);
  assert.equal(written(s).length, 2);
  await s.end();
});

test('dup: the same retry after the end gets the recorded outcome', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  const { call, state, keys } = await asked(s);
  const first = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  const again = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual(again.value, first.value);
  assert.equal(again.accepted, true);
  assert.equal(written(s).length, 1);
  await s.end();
});

test('dup: other answers to the same question are not taken, hear the outcome, and are audited', async () => {
  const audited: unknown[] = [];
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: { onAudit: (event) => audited.push(event.what) } });
  const { call, state, keys } = await asked(s);
  const left = shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  assert.deepEqual(left.keys, [keys[1]]);
  const other = shown(await retry(s, call, state, { [keys[0]!]: RED }).ended);
  assert.deepEqual(other.keys, [keys[1]]);
  assert.deepEqual(audited, ['other-answers']);
  const { value } = await retry(s, call, left.state, { [keys[1]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN, 2: GREEN });
  await s.end();
});

test('stale: a state of an older round gets the round of now, and takes nothing back', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const { call, state, keys } = await asked(s);
  const second = shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  const stale = shown(await retry(s, call, state, { [keys[0]!]: GREEN, stranger: RED }).ended);
  assert.equal(stale.state, second.state);
  assert.deepEqual(stale.keys, second.keys);
  await eventually(() => written(s).length > 0);
  assert.equal(written(s).length, 1);
  await s.end();
});

test('answers in part: what came is given to the server, what is missing is asked again under its own key', async () => {
  const s = stage({ scripts: [asking(elicit(1), sample(2))], asks: true });
  const { call, state, keys } = await asked(s);
  const rest = shown(await retry(s, call, state, { [keys[1]!]: SAID }).ended);
  assert.notEqual(rest.state, state);
  assert.deepEqual([rest.keys, rest.requests[keys[0]!]?.method], [[keys[0]], 'elicitation/create']);
  await eventually(() => written(s).length === 1);
  assert.deepEqual(written(s), [{ jsonrpc: '2.0', id: 2, result: SAID }]);
  const { value } = await retry(s, call, rest.state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN, 2: SAID });
  await s.end();
});

test('no answers at all: the round of now, once more', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  const { call, state, keys } = await asked(s);
  for (const answers of [null, {}, { unknown: GREEN }]) {
    const again = shown(await retry(s, call, state, answers).ended);
    assert.deepEqual([again.state, again.keys], [state, keys]);
  }
  await s.end();
});

test('an answer that is none refuses the retry with -32602, and nothing of it is taken', async () => {
  const s = stage({ scripts: [asking(elicit(1), sample(2), { id: 3, method: 'roots/list' })], asks: true });
  const { call, state, keys } = await asked(s);
  const [form, sampling, roots] = keys as [string, string, string];
  const bad = [
    { [form]: GREEN, [sampling]: 'text' },
    { [form]: { action: 'yes' } },
    { [form]: { content: {} } },
    { [sampling]: { role: 'assistant', model: 'm' } },
    { [sampling]: { role: 'assistant', content: {} } },
    { [roots]: {} },
    { [roots]: { roots: [{ name: 'n' }] } },
  ];
  for (const answers of bad) {
    const { fault, accepted } = await retry(s, call, state, answers).ended;
    assert.deepEqual([fault?.code, accepted], [-32602, false], JSON.stringify(answers));
  }
  assert.equal(written(s).length, 0);
  assert.deepEqual(shown(await retry(s, call, state, null).ended).keys, keys);
  await s.end();
});

test('a form that does not fit stays open, and the rest is delivered', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const { call, state, keys } = await asked(s);
  const wrong = { action: 'accept', content: { color: 7 } };
  const rest = shown(await retry(s, call, state, { [keys[0]!]: wrong, [keys[1]!]: GREEN }).ended);
  assert.deepEqual(rest.keys, [keys[0]]);
  await eventually(() => written(s).length > 0);
  assert.deepEqual(written(s), [{ jsonrpc: '2.0', id: 2, result: GREEN }]);
  const declined = { action: 'decline' };
  const { value } = await retry(s, call, rest.state, { [keys[0]!]: declined }).ended;
  assert.deepEqual(value?.told, { 1: declined, 2: GREEN });
  await s.end();
});

test('GB-065 TEN: a state in the hands of another person or another program reads as unknown, and is audited', async () => {
  const audited: unknown[] = [];
  const s = stage({
    scripts: [asking(elicit(1))],
    asks: { onAudit: (event) => audited.push(event.principal.subject) },
  });
  const { call, state, keys } = await asked(s);
  const answers = { [keys[0]!]: RED };
  const unknown = await retry(s, call, `x1.other.${call.head.xid}`, answers).ended;
  for (const principal of [BOB, { ...ALICE, client: 'other' }, { ...ALICE, tenant: 'globex' }]) {
    const { fault } = await retry(s, call, state, answers, { principal }).ended;
    assert.deepEqual(fault, unknown.fault);
  }
  const { fault: session } = await retry(s, call, state, answers, { session: 'another' }).ended;
  assert.deepEqual(session, unknown.fault);
  assert.equal(unknown.fault?.reason, 'unknown-exchange');
  assert.deepEqual(audited, ['bob', 'alice', 'alice', 'alice']);
  const { value } = await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN });
  // After the end too.
  const late = await retry(s, call, state, answers, { principal: BOB }).ended;
  assert.deepEqual(late.fault, unknown.fault);
  await s.end();
});

test('a state of no exchange that this node knows starts nothing', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  for (const state of ['x1.r1.nowhere', 'x1.r1.other', 'nonsense', '']) {
    const { fault } = await s.open('tools/call', { xid: 'nowhere', state }).ended;
    assert.equal(fault?.reason, 'unknown-exchange', state);
  }
  assert.equal((await s.open('tools/call', { xid: 'nowhere', wait: true }).ended).fault?.reason, 'unknown-exchange');
  assert.equal(s.children.length, 0);
  await s.end();
});

test('a question that comes while others wait joins them: the next one who comes is told of both', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))].map((script) => script), asks: true });
  const late = elicit('late', 'And now?');
  const { call, state, keys } = await asked(s);
  write(s.children[0]!, late);
  const both = shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  assert.equal(both.keys.length, 2);
  assert.equal(both.keys[0], keys[1]);
  assert.equal(both.requests[both.keys[1]!]?.params?.message, 'Server "fake" asks: And now?');
  await s.end();
});

test('a question that its server takes back leaves the set, and a late answer to it goes nowhere', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const { call, state, keys } = await asked(s);
  const child = s.children[0]!;
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  const left = shown(await retry(s, call, state, { [keys[0]!]: GREEN }).ended);
  assert.deepEqual(left.keys, [keys[1]]);
  assert.equal(written(s).length, 0);
  // The last one too: then the call simply goes on, and its result comes.
  child.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  const waiting = retry(s, call, left.state, { [keys[1]!]: GREEN });
  child.write({
    jsonrpc: '2.0',
    id: child.received.find((m) => m.method === 'tools/call')?.id,
    result: { content: [] },
  });
  assert.deepEqual((await waiting.ended).value, { content: [] });
  assert.equal(written(s).length, 0);
  await s.end();
});

test('a result that does not wait for its questions moves the exchange to done; they are answered all the same', async () => {
  const s = stage({ scripts: [asking(elicit(1), sample(2), { id: 3, method: 'roots/list' })], asks: true });
  const { call, state, keys } = await asked(s);
  const child = s.children[0]!;
  child.write({
    jsonrpc: '2.0',
    id: child.received.find((m) => m.method === 'tools/call')?.id,
    result: { content: [] },
  });
  assert.deepEqual((await retry(s, call, state, { [keys[0]!]: GREEN }).ended).value, { content: [] });
  assert.deepEqual(written(s), [
    { jsonrpc: '2.0', id: 1, result: { action: 'cancel' } },
    { jsonrpc: '2.0', id: 2, error: { code: -1, message: 'The request was not answered' } },
    { jsonrpc: '2.0', id: 3, error: { code: -32603, message: 'The request was not answered' } },
  ]);
  assert.equal(s.dispatcher.size, 0);
  await s.end();
});

test('shrinking: a retry that declares less gets no more questions than that; the call goes on', async () => {
  const s = stage({ scripts: [asking(elicit(1), sample(2))], asks: true });
  const { call, state, keys } = await asked(s);
  const back = retry(s, call, state, { [keys[0]!]: GREEN, [keys[1]!]: SAID }, { capabilities: FORM });
  const child = s.children[0]!;
  await back.ended;
  const next = s.open('tools/call', { capabilities: ALL });
  const again = shown(await next.ended);
  const waiting = retry(s, next, again.state, { [again.keys[0]!]: GREEN }, { capabilities: FORM });
  await waiting.ended;
  write(child, sample('more'));
  await eventually(() => child.received.some((m) => m.id === 'more'));
  assert.equal(child.received.find((m) => m.id === 'more')?.error?.code, -32601);
  await s.end();
});

test('a seal of any round still brings the answer to a question that is open', async () => {
  const s = stage({ scripts: [asking(elicit(1), elicit(2))], asks: true });
  const { call, state, keys } = await asked(s);
  await retry(s, call, state, { [keys[0]!]: GREEN }).ended;
  const { value } = await retry(s, call, state, { [keys[1]!]: GREEN }).ended;
  assert.deepEqual(value?.told, { 1: GREEN, 2: GREEN });
  await s.end();
});

test('a legacy caller: a form that does not fit is asked anew, and what is no answer at all is the server’s to hear', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true });
  const legacy = { downstreamEra: 'legacy', onVanish: 'keep', session: 'sess' } as const;
  const call = s.open('tools/call', { ...legacy, capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const waiting = retry(s, call, state, null, { wait: true });
  const wrong = { action: 'accept', content: { color: 7 } };
  const anew = await retry(s, call, state, { [keys[0]!]: wrong }).ended;
  assert.deepEqual([anew.accepted, anew.result?.origin?.asked], [true, { [keys[0]!]: 2 }]);
  assert.deepEqual((await waiting.ended).result, anew.result);
  const { value } = await retry(s, call, shown(anew).state, { [keys[0]!]: { nonsense: true } }).ended;
  assert.equal((value!.told as Record<string, { code: number }>)['1']?.code, -32602);
  await s.end();
});
