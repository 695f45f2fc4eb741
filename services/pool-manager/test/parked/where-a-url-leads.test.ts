// -32042 of a legacy server, and a modern server's questions to a legacy caller: what is asked, what is called again, and
// with what (protocol.md §5.2 "-32042", §5.3 "input_required")?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type Stage, stage } from '../dispatch/stage.ts';
import { fail, legacyServer, modernServer, ok, type Script, type Sent } from '../raise/fake.ts';
import { ALL, FORM, GREEN, retry, SCHEMA, shown } from './asking.ts';

const LEGACY = { downstreamEra: 'legacy', onVanish: 'keep', session: 'sess' } as const;
const ACCEPT = { action: 'accept' };

function visit(n: number) {
  return { mode: 'url', elicitationId: `e${n}`, url: `https://a.example/${n}`, message: `Sign in ${n}` };
}

/** Refuses with -32042 as often as it has entries left; then answers. */
function gated(...rounds: number[][]): Script {
  let call = 0;
  return legacyServer((m, child) => {
    if (m.method !== 'tools/call' && m.method !== 'tools/list') return false;
    const entries = rounds[call++];
    if (entries === undefined) ok(child, m, { content: [], arguments: m.params?.arguments });
    else fail(child, m, -32042, 'Sign in first', { elicitations: entries.map(visit) });
    return true;
  });
}

function calls(s: Stage): Sent[] {
  return s.children.flatMap((c) => c.received.filter((m) => m.method === 'tools/call'));
}

test('-32042 asks one URL per entry; when all are accepted the same call is made again on the same process', async () => {
  const s = stage({ scripts: [gated([1, 2])], asks: true });
  const call = s.open('tools/call', { capabilities: ALL }, '"name":"t","arguments":{"n":1.0}');
  const answered = await call.ended;
  const { state, keys, requests } = shown(answered);
  assert.deepEqual(
    keys.map((key) => requests[key]),
    [1, 2].map((n) => ({
      method: 'elicitation/create',
      params: { mode: 'url', message: `Server "fake" asks: Sign in ${n}`, url: `https://a.example/${n}` },
    })),
  );
  assert.deepEqual(answered.result?.origin?.elicitationIds, { [keys[0]!]: 'e1', [keys[1]!]: 'e2' });
  assert.equal(answered.result?.origin?.wasUrlError, true);
  const rest = shown(await retry(s, call, state, { [keys[0]!]: ACCEPT }).ended);
  assert.deepEqual(rest.keys, [keys[1]]);
  const { value } = await retry(s, call, rest.state, { [keys[1]!]: ACCEPT }).ended;
  assert.deepEqual(value?.arguments, { n: 1 });
  assert.equal(s.children.length, 1);
  assert.deepEqual(
    s.children[0]!.raw.filter((line) => line.includes('tools/call')).map((line) =>
      /"arguments":\{"n":1\.0\}/.test(line),
    ),
    [true, true],
  );
  await s.end();
});

test('-32042: who declines is not made to call again', async () => {
  const s = stage({ scripts: [gated([1])], asks: true });
  const call = s.open('tools/call', { capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  const { value } = await retry(s, call, state, { [keys[0]!]: { action: 'decline' } }).ended;
  assert.equal(value?.isError, true);
  assert.equal(calls(s).length, 1);
  await s.end();
});

test('-32042: a caller that cannot open URLs is told what it lacks; a method that cannot ask has an error', async () => {
  const s = stage({ scripts: [gated([1])], asks: true });
  const { fault } = await s.open('tools/call', { capabilities: FORM }).ended;
  assert.deepEqual([fault?.reason, fault?.code], ['capability', -32021]);
  assert.deepEqual(JSON.parse(fault!.data!), { requiredCapabilities: { elicitation: { url: {} } } });
  await s.end();
  const list = stage({ scripts: [gated([1])], asks: true });
  const { fault: plain } = await list.open('tools/list', { capabilities: ALL }).ended;
  assert.deepEqual([plain?.reason, plain?.code], ['upstream', -32603]);
  await list.end();
});

test('-32042 again for the same URL does not ask again: the call is tried again, at once when the server says it is done', async () => {
  const s = stage({ scripts: [gated([1], [1], [1])], asks: true });
  const call = s.open('tools/call', { capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  const back = retry(s, call, state, { [keys[0]!]: ACCEPT });
  await eventually(() => calls(s).length === 2);
  s.children[0]!.write({
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId: 'e1' },
  });
  const { value, events } = await back.ended;
  assert.deepEqual([value?.content, events], [[], []]);
  assert.equal(calls(s).length, 4);
  await s.end();
});

test('elicitation/complete goes to the legacy caller that was sent there, and to no modern one', async () => {
  const s = stage({ scripts: [gated([1], [1])], asks: true });
  const call = s.open('tools/call', { ...LEGACY, capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  const back = retry(s, call, state, { [keys[0]!]: ACCEPT });
  await eventually(() => calls(s).length === 2);
  s.children[0]!.write({
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId: 'e1' },
  });
  const { events } = await back.ended;
  assert.deepEqual(
    events.map(({ method, members }) => [method, members]),
    [['notifications/elicitation/complete', { elicitationId: 'e1' }]],
  );
  await s.end();
});

const form = (message: string) => ({ method: 'elicitation/create', params: { message, requestedSchema: SCHEMA } });
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };

/** A modern server that asks round after round; then answers with what it was last told. */
function rounds(...asks: { requests?: Record<string, unknown>; state?: string }[]): Script {
  let call = 0;
  return modernServer((m, child) => {
    if (m.method !== 'tools/call') return false;
    const round = asks[call++];
    if (round === undefined) {
      const { inputResponses, requestState } = m.params!;
      ok(child, m, { resultType: 'complete', content: [], told: inputResponses ?? null, state: requestState ?? null });
    } else {
      const requests = round.requests === undefined ? {} : { inputRequests: round.requests };
      const state = round.state === undefined ? {} : { requestState: round.state };
      ok(child, m, { resultType: 'input_required', ...requests, ...state });
    }
    return true;
  });
}

const MODERN = { era: 'modern' } as const;

test('legacy caller × modern server: answers come one by one, the round is spent with the server’s exact state', async () => {
  const states = ['', ' ', 'ä"{}\n', 'A'.repeat(8192)];
  for (const state of states) {
    const s = stage({
      scripts: [rounds({ requests: { a: form('A'), b: sampling }, state })],
      asks: true,
      spec: MODERN,
    });
    const call = s.open('tools/call', { ...LEGACY, capabilities: ALL }, '"name":"t"');
    const both = shown(await call.ended);
    assert.deepEqual(
      both.keys.map((key) => both.requests[key]),
      [form('A'), sampling],
    );
    const said = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' };
    const left = shown(await retry(s, call, both.state, { [both.keys[1]!]: said }).ended);
    assert.deepEqual(left.keys, [both.keys[0]]);
    assert.equal(calls(s).length, 1);
    const { value } = await retry(s, call, left.state, { [both.keys[0]!]: GREEN }).ended;
    assert.deepEqual([value?.told, value?.state], [{ a: GREEN, b: said }, state]);
    const [first, second] = calls(s);
    assert.notEqual(first?.id, second?.id);
    assert.equal(second?.params?.name, 't');
    await s.end();
  }
});

test('GB-061 legacy caller × modern server: no requestState when none was given, and this round’s answers only', async () => {
  const script = rounds({ requests: { a: form('A') } }, { requests: { a: form('B') }, state: 'two' });
  const s = stage({ scripts: [script], asks: true, spec: MODERN });
  const call = s.open('tools/call', { ...LEGACY, capabilities: ALL });
  const one = shown(await call.ended);
  const two = shown(await retry(s, call, one.state, { [one.keys[0]!]: GREEN }).ended);
  assert.equal('requestState' in calls(s)[1]!.params!, false);
  assert.notDeepEqual(two.keys, one.keys);
  const { value } = await retry(s, call, two.state, { [two.keys[0]!]: { action: 'decline' } }).ended;
  assert.deepEqual([value?.told, value?.state], [{ a: { action: 'decline' } }, 'two']);
  await s.end();
});

test('legacy caller × modern server: the same URL is asked once; the server is asked again with back-off', async () => {
  const go = { method: 'elicitation/create', params: { mode: 'url', message: 'Go', url: 'https://a.example/' } };
  const script = rounds({ requests: { u: go }, state: '1' }, { requests: { u: go }, state: '2' });
  const s = stage({ scripts: [script], asks: true, spec: MODERN });
  const call = s.open('tools/call', { ...LEGACY, capabilities: ALL });
  const one = shown(await call.ended);
  const { value } = await retry(s, call, one.state, { [one.keys[0]!]: ACCEPT }).ended;
  assert.deepEqual([value?.told, value?.state], [{ u: ACCEPT }, '2']);
  await s.end();
});

test('legacy caller × modern server: rounds with nothing but a state are gone through without the caller', async () => {
  const s = stage({ scripts: [rounds({ state: '1' }, { state: '2' })], asks: true, spec: MODERN });
  const { value } = await s.open('tools/call', { ...LEGACY, capabilities: ALL }).ended;
  assert.deepEqual([value?.told, value?.state], [null, '2']);
  await s.end();
});

test('legacy caller × modern server: a refusal of sampling gives the call up without asking the server again', async () => {
  const s = stage({
    scripts: [rounds({ requests: { a: form('A'), b: sampling }, state: 's' })],
    asks: true,
    spec: MODERN,
  });
  const call = s.open('tools/call', { ...LEGACY, capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  const no = { 'lk/error': { code: -1, message: 'User rejected' } };
  const { value } = await retry(s, call, state, { [keys[1]!]: no }).ended;
  assert.equal(value?.isError, true);
  assert.equal(calls(s).length, 1);
  await s.end();
});

test('legacy × legacy: a refusal of sampling reaches the server as its error', async () => {
  const asks = legacyServer((m, child) => {
    if (m.method === 'tools/call') child.write({ jsonrpc: '2.0', id: 's', ...sampling });
    if (m.id === 's')
      ok(child, child.received.find((r) => r.method === 'tools/call')!, { content: [], error: m.error });
    return m.method === 'tools/call' || m.id === 's';
  });
  const s = stage({ scripts: [asks], asks: true });
  const call = s.open('tools/call', { ...LEGACY, capabilities: ALL });
  const { state, keys } = shown(await call.ended);
  const { value } = await retry(s, call, state, { [keys[0]!]: { 'lk/error': { code: -1, message: 'User rejected' } } })
    .ended;
  assert.deepEqual(value?.error, { code: -1, message: 'User rejected' });
  await s.end();
});

test('modern caller × modern server: nothing is held; the state goes back byte for byte, on two retries at once too', async () => {
  const state = 'x1.nonce.look-alike';
  const script = rounds({ requests: { a: form('A') }, state });
  const s = stage({ scripts: [script], asks: true, spec: MODERN });
  const call = s.open('tools/call', { capabilities: ALL });
  const answered = await call.ended;
  assert.deepEqual(shown(answered).keys, ['a']);
  assert.equal(s.dispatcher.size, 0);
  const both = [1, 2].map(() => retry(s, call, answered.result!.state!, { a: GREEN }));
  for (const { ended } of both) {
    const { value } = await ended;
    assert.deepEqual([value?.told, value?.state], [{ a: GREEN }, state]);
  }
  await s.end();
});
