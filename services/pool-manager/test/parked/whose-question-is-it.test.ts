// Whose question is it, may it be asked at all, and who runs in the meantime (design §5 "Baton", "Ask", "Taint")?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type Stage, stage } from '../dispatch/stage.ts';
import { type FakeChild, legacyServer, ok, type Script, type Sent } from '../raise/fake.ts';
import { ALL, asking, elicit, FORM, GREEN, retry, sample, shown, write } from './asking.ts';

/** Calls are left open; the test says what the server does. */
function open(): { script: Script; calls: Sent[] } {
  const calls: Sent[] = [];
  const script = legacyServer((m) => {
    if (m.method === 'tools/call') calls.push(m);
    return m.method === 'tools/call' || m.method === undefined;
  });
  return { script, calls };
}

function answer(child: FakeChild, id: string | number): Sent | undefined {
  return child.received.find((m) => m.id === id && m.method === undefined);
}

async function refusedWith(s: Stage, id: string | number): Promise<number | undefined> {
  await eventually(() => answer(s.children[0]!, id) !== undefined);
  return answer(s.children[0]!, id)?.error?.code;
}

test('GB-062 GB-064: what this call did not declare is refused to the server at once, down to mode and part', async () => {
  const url = { mode: 'url', url: 'https://a.example/x', elicitationId: 'e1', requestedSchema: undefined };
  const rows = [
    [{ sampling: {} }, elicit(1), -32601],
    [{ elicitation: { url: {} } }, elicit(1), -32601],
    [FORM, elicit(1, 'Go there', url), -32602],
    [FORM, sample(1), -32601],
    [{ sampling: {} }, sample(1, { tools: [] }), -32602],
    [FORM, { id: 1, method: 'roots/list' }, -32601],
    [ALL, elicit(1, 'Go', { ...url, url: 'javascript:alert(1)' }), -32602],
    [ALL, elicit(1, 'Go', { ...url, url: 'file:///etc/passwd' }), -32602],
    [ALL, { id: 1, method: 'elicitation/create', params: { message: 'no schema' } }, -32602],
    [ALL, { id: 1, method: 'elicitation/create', params: { mode: 'odd', message: 'm' } }, -32602],
  ] as const;
  for (const [capabilities, ask, code] of rows) {
    const s = stage({ scripts: [asking(ask)], asks: true });
    const { value, fault } = await s.open('tools/call', { capabilities }).ended;
    const { error } = answer(s.children[0]!, 1) ?? {};
    assert.equal(error?.code, code, JSON.stringify([capabilities, ask]));
    // It succeeded without: that is relayed.
    assert.ok(value !== undefined && fault === undefined);
    await s.end();
  }
});

test('a call that fails for want of a capability, with nothing heard of it, tells which; what is withheld here it does not', async () => {
  const failing = legacyServer((m, child) => {
    if (m.method === 'tools/call') write(child, elicit(1));
    if (m.method === undefined && m.error !== undefined)
      ok(child, child.received.find((r) => r.method === 'tools/call')!, { content: [], isError: true });
    return m.method === 'tools/call' || m.method === undefined;
  });
  const lacking = stage({ scripts: [failing], asks: true });
  const { fault } = await lacking.open('tools/call', { capabilities: { sampling: {} } }).ended;
  assert.deepEqual([fault?.reason, fault?.code], ['capability', -32021]);
  assert.deepEqual(JSON.parse(fault!.data!), { requiredCapabilities: { elicitation: { form: {} } } });
  await lacking.end();
  const ask = { roots: 'caller', sampling: 'caller', elicitation: 'never' } as const;
  const withheld = stage({ scripts: [failing], asks: true, spec: { ask } });
  const { value } = await withheld.open('tools/call', { capabilities: ALL }).ended;
  assert.equal(value?.isError, true);
  await withheld.end();
});

test('url and hints stay as they are; ids, tasks and tokens of the pipe do not; context that was not declared is none', async () => {
  const url = elicit(1, 'Go', { mode: 'url', url: 'https://a.example/?q=%20x', elicitationId: 'e1', task: { ttl: 1 } });
  const sampling = sample(2, {
    includeContext: 'allServers',
    temperature: 0.1,
    modelPreferences: { hints: [{ name: 'm' }] },
  });
  const s = stage({ scripts: [asking(url, sampling)], asks: true });
  const capabilities = { ...ALL, sampling: {} };
  const answered = await s.open('tools/call', { capabilities }).ended;
  const { keys, requests } = shown(answered);
  assert.deepEqual(requests[keys[0]!]?.params, {
    message: 'Server "fake" asks: Go',
    requestedSchema: url.params!.requestedSchema,
    mode: 'url',
    url: 'https://a.example/?q=%20x',
  });
  assert.deepEqual(requests[keys[1]!]?.params, { ...sampling.params, includeContext: 'none' });
  assert.deepEqual(answered.result?.origin?.elicitationIds, { [keys[0]!]: 'e1' });
  await s.end();
});

test('one call runs at a time; a parked one gives its turn up, and has it again before new ones when it is answered', async () => {
  const { script, calls } = open();
  const s = stage({
    scripts: [script],
    asks: true,
    spec: { pool: { max: 1, minWarm: 0, idleMs: 60_000, maxAgeMs: 1e9, maxUses: 1000 } },
  });
  const a = s.open('tools/call', { capabilities: FORM }, '"name":"a"');
  await eventually(() => calls.length === 1);
  const child = s.children[0]!;
  const b = s.open('tools/call', { capabilities: FORM }, '"name":"b"');
  write(child, elicit('qa', 'Of a'));
  const ofA = shown(await a.ended);
  await eventually(() => calls.length === 2);
  write(child, elicit('qb', 'Of b'));
  const ofB = shown(await b.ended);
  assert.match(String(ofB.requests[ofB.keys[0]!]?.params?.message), /Of b/);
  // Nobody runs, and two wait: whose it is cannot be told.
  write(child, elicit('stray', 'Of whom'));
  assert.equal(await refusedWith(s, 'stray'), -32602);
  const backA = retry(s, a, ofA.state, { [ofA.keys[0]!]: GREEN });
  await eventually(() => answer(child, 'qa') !== undefined);
  const backB = retry(s, b, ofB.state, { [ofB.keys[0]!]: GREEN });
  const c = s.open('tools/call', { capabilities: FORM }, '"name":"c"');
  write(child, elicit('qa2', 'Of a again'));
  const ofA2 = shown(await backA.ended);
  // B goes on as soon as A waits, and C not before B has ended.
  await eventually(() => answer(child, 'qb') !== undefined);
  assert.equal(calls.length, 2);
  ok(child, calls[1]!, { content: [], of: 'b' });
  assert.equal((await backB.ended).value?.of, 'b');
  await eventually(() => calls.length === 3);
  ok(child, calls[2]!, { content: [], of: 'c' });
  assert.equal((await c.ended).value?.of, 'c');
  const end = retry(s, a, ofA2.state, { [ofA2.keys[0]!]: GREEN });
  await eventually(() => answer(child, 'qa2') !== undefined);
  ok(child, calls[0]!, { content: [], of: 'a' });
  assert.equal((await end.ended).value?.of, 'a');
  assert.equal(s.children.length, 1);
  await s.end();
});

test('a server that does one thing at a time cannot hold an answer up for ever', async () => {
  const { script, calls } = open();
  const pool = { max: 1, minWarm: 0, idleMs: 60_000, maxAgeMs: 1e9, maxUses: 1000 };
  const s = stage({ scripts: [script], asks: true, spec: { pool }, deps: { batonMs: 50 } });
  const a = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 1);
  const child = s.children[0]!;
  write(child, elicit('qa'));
  const ofA = shown(await a.ended);
  const b = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 2);
  const back = retry(s, a, ofA.state, { [ofA.keys[0]!]: GREEN });
  await eventually(() => answer(child, 'qa') !== undefined);
  // Both run; what the server asks is asked of the one that went on last.
  write(child, elicit('qa2', 'again'));
  const again = shown(await back.ended);
  assert.equal(again.keys.length, 1);
  ok(child, calls[1]!, { content: [] });
  assert.equal((await b.ended).result?.resultType, 'complete');
  // It waits again, so the turn it had waited for is another's.
  const c = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 3);
  ok(child, calls[2]!, { content: [] });
  assert.equal((await c.ended).result?.resultType, 'complete');
  assert.equal(s.children.length, 1);
  await s.end();
});

test('GB-065: a quiet shared process declares nothing, and what it asks all the same is refused at once', async () => {
  const s = stage({ scripts: [asking(elicit(1))], asks: true, spec: { isolation: 'shared' } });
  const { value } = await s.open('tools/call', { capabilities: ALL }).ended;
  assert.equal((value!.told as Record<string, { code: number }>)['1']?.code, -32601);
  assert.deepEqual(s.children[0]!.received[0]?.params?.capabilities, {});
  await s.end();
});

test('nobody is asked in a method that cannot be answered by a question', async () => {
  const listing = legacyServer((m, child) => {
    if (m.method === 'tools/list') write(child, elicit(1));
    if (m.id === 1 && m.method === undefined)
      ok(child, child.received.find((r) => r.method === 'tools/list')!, { tools: [] });
    return m.method === 'tools/list' || m.method === undefined;
  });
  const s = stage({ scripts: [listing], asks: true });
  assert.deepEqual((await s.open('tools/list', { capabilities: ALL }).ended).value?.tools, []);
  assert.equal(answer(s.children[0]!, 1)?.error?.code, -32602);
  await s.end();
});

function rootsAtStart(after?: (child: FakeChild, m: Sent) => void): Script {
  return legacyServer((m, child) => {
    if (m.method === 'notifications/initialized')
      setImmediate(() => write(child, { id: 'roots', method: 'roots/list' }));
    if (m.method === 'tools/call') after?.(child, m);
    return m.method === 'tools/call' || m.method === 'notifications/initialized' || m.method === undefined;
  });
}

test('roots/list right after the start does not hold up a quick call, and is answered from static roots in time', async () => {
  const timings = { earlyMs: 80, earlyWindowMs: 40 };
  const roots = [{ uri: 'file:///data' }];
  const quick = rootsAtStart((child, m) => ok(child, m, { content: [] }));
  const s = stage({ scripts: [quick], asks: { timings }, spec: { roots } });
  const { value } = await s.open('tools/call', { capabilities: ALL }).ended;
  assert.deepEqual(value, { content: [] });
  // With the call's end nobody is left to ask.
  await eventually(() => answer(s.children[0]!, 'roots') !== undefined);
  await s.end();
});

test('roots/list right after the start is asked of a call that takes longer; unanswered, it gets static roots or an error', async () => {
  for (const roots of [[{ uri: 'file:///data', name: 'data' }], undefined]) {
    let call: Sent | null = null;
    const script = rootsAtStart((_child, m) => {
      call = m;
    });
    const timings = { earlyMs: 80, earlyWindowMs: 20 };
    const s = stage({ scripts: [script], asks: { timings }, spec: roots === undefined ? {} : { roots } });
    const first = s.open('tools/call', { capabilities: ALL });
    const { state, keys, requests } = shown(await first.ended);
    assert.deepEqual(requests[keys[0]!], { method: 'roots/list' });
    const child = s.children[0]!;
    await eventually(() => answer(child, 'roots') !== undefined);
    const told = answer(child, 'roots');
    if (roots === undefined) assert.equal(told?.error?.code, -32603);
    else assert.deepEqual(told?.result, { roots });
    const back = retry(s, first, state, { [keys[0]!]: { roots: [] } });
    ok(child, call!, { content: [] });
    assert.deepEqual((await back.ended).value, { content: [] });
    await s.end();
  }
});

test('roots/list right after the start waits through a method that cannot be asked, and its caller may answer it', async () => {
  let call: Sent | null = null;
  const script = legacyServer((m, child) => {
    if (m.method === 'notifications/initialized')
      setImmediate(() => write(child, { id: 'roots', method: 'roots/list' }));
    if (m.method === 'tools/list') ok(child, m, { tools: [] });
    if (m.method === 'tools/call') call = m;
    return m.method !== 'initialize' && m.method !== 'server/discover';
  });
  const s = stage({ scripts: [script], asks: { timings: { earlyWindowMs: 20 } } });
  assert.deepEqual((await s.open('tools/list', { capabilities: ALL }).ended).value?.tools, []);
  const first = s.open('tools/call', { capabilities: ALL });
  const { state, keys } = shown(await first.ended);
  const roots = { roots: [{ uri: 'file:///mine' }] };
  const back = retry(s, first, state, { [keys[0]!]: roots });
  await eventually(() => answer(s.children[0]!, 'roots') !== undefined);
  assert.deepEqual(answer(s.children[0]!, 'roots')?.result, roots);
  ok(s.children[0]!, call!, { content: [] });
  await back.ended;
  await s.end();
});

test('caps: over as many waiting calls as one person or one server may have, the question is refused, the call goes on', async () => {
  for (const limits of [{ maxParkedPerPrincipal: 1 }, { maxParkedPerServer: 1 }]) {
    const s = stage({
      scripts: [asking(elicit(1)), asking(elicit(1))],
      asks: true,
      limits,
      spec: { isolation: 'exclusive' },
    });
    const first = s.open('tools/call', { capabilities: FORM });
    const { state, keys } = shown(await first.ended);
    const { value } = await s.open('tools/call', { capabilities: FORM }).ended;
    assert.equal((value!.told as Record<string, { code: number }>)['1']?.code, -32603);
    await retry(s, first, state, { [keys[0]!]: GREEN }).ended;
    const next = s.open('tools/call', { capabilities: FORM });
    shown(await next.ended);
    await s.end();
  }
});

test('taint: a process whose parked call was cancelled is unfit until the server has answered that', async () => {
  const { script, calls } = open();
  const s = stage({ scripts: [script], asks: true, limits: { humanMs: 40 } });
  const a = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 1);
  write(s.children[0]!, elicit(1));
  shown(await a.ended);
  await eventually(() => s.dispatcher.size === 0);
  assert.equal(s.children[0]!.methods().includes('notifications/cancelled'), true);
  await s.end();
});

test('answers that wait for their turn are not lost when more is asked meanwhile', async () => {
  const { script, calls } = open();
  const s = stage({ scripts: [script], asks: true });
  const a = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 1);
  const child = s.children[0]!;
  write(child, elicit('q1'));
  write(child, elicit('q2'));
  const ofA = shown(await a.ended);
  const b = s.open('tools/call', { capabilities: FORM });
  await eventually(() => calls.length === 2);
  const rest = shown(await retry(s, a, ofA.state, { [ofA.keys[0]!]: GREEN }).ended);
  // It stands in line behind B; what does not fit is asked anew, and nothing of it gives its place away.
  shown(await retry(s, a, rest.state, { [ofA.keys[1]!]: { action: 'accept', content: {} } }).ended);
  ok(child, calls[1]!, { content: [] });
  await b.ended;
  await eventually(() => answer(child, 'q1') !== undefined);
  assert.deepEqual(answer(child, 'q1')?.result, GREEN);
  await s.end();
});
