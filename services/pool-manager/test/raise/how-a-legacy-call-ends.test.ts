// A call of a legacy server that does not end in a result: cancels, deaths, answers too long or unreadable, errors.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOB, bytes, collect, fail, ok, openOf, type Sent } from './fake.ts';
import { echo, scene, silent } from './legacy-scene.ts';

test('a cancel names our id upstream, settles at once, drops the late answer and taints until that answer came', async () => {
  const s = await scene(silent);
  const { reply, ended } = collect();
  const call = s.connection.call(openOf('tools/call'), bytes('"name":"t"'), reply);
  call.cancel('the client left');
  call.cancel('twice');
  assert.deepEqual((await ended).fault, {
    reason: 'cancelled',
    code: -32603,
    message: 'the client left',
    mayHaveRun: true,
  });
  const cancelled = s.child.received.filter((m) => m.method === 'notifications/cancelled');
  assert.deepEqual(
    cancelled.map((m) => m.params),
    [{ requestId: 2, reason: 'the client left' }],
  );
  assert.equal(s.connection.open, 0);
  assert.equal(s.connection.tainted, true);
  s.child.write({ jsonrpc: '2.0', id: 2, result: { late: true } });
  assert.equal(s.connection.tainted, false);
  await s.end();
});

test('GB-087: a cancel stops its own call and no other', async () => {
  const waiting: Sent[] = [];
  const s = await scene((m, child) => {
    if (m.method === 'tools/call') return waiting.push(m) > 0;
    if (m.method !== 'notifications/cancelled') return false;
    for (const w of waiting) if (w.id !== m.params?.requestId) ok(child, w, { mine: w.params?.who });
    return true;
  });
  const alice = collect();
  const call = s.connection.call(openOf('tools/call'), bytes('"who":"alice"'), alice.reply);
  const bob = s.call('tools/call', '"who":"bob"', { principal: BOB });
  call.cancel('stop');
  assert.deepEqual((await bob).value, { mine: 'bob' });
  assert.equal((await alice.ended).fault?.reason, 'cancelled');
  await s.end();
});

test('the end of the process loses what is open, and says that it may have run', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    child.exit('killed by SIGKILL', 'killed');
    return true;
  });
  const { fault } = await s.call('tools/call');
  assert.deepEqual(fault, {
    reason: 'lost',
    code: -32603,
    message: 'the server ended during the call: killed by SIGKILL',
    mayHaveRun: true,
  });
  const after = await s.call('tools/call');
  assert.equal(after.fault?.reason, 'lost');
  assert.equal(after.fault?.mayHaveRun, false);
  assert.equal((await s.connection.closed).kind, 'killed');
  await s.end();
});

test('a server that does not read is busy, and the call has not run', async () => {
  const s = await scene(echo);
  s.child.full = true;
  const { fault } = await s.call('tools/call');
  assert.deepEqual([fault?.reason, fault?.mayHaveRun], ['busy', false]);
  await s.end();
});

test('GB-032: the answer that is over the cap fails its exchange; the process goes on until it repeats', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    child.fault('line-too-long');
    return true;
  });
  for (let i = 0; i < 2; i++) assert.equal((await s.call('tools/call')).fault?.reason, 'too-large');
  assert.equal(s.child.exited, null);
  assert.equal((await s.call('tools/call')).fault?.reason, 'too-large');
  assert.notEqual(s.child.exited, null);
  await s.end();
});

test('GB-032: of several open calls, the one that the long line answers fails and no other', async () => {
  const waiting: Sent[] = [];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    if (waiting.push(m) < 2) return true;
    child.fault('line-too-long', String(waiting[1]?.id));
    child.fault('line-too-long', '"nobody"');
    ok(child, waiting[0]!, { fine: true });
    return true;
  });
  const both = await Promise.all([s.call('tools/call'), s.call('tools/call')]);
  assert.deepEqual(
    both.map((e) => e.fault?.reason ?? e.value),
    [{ fine: true }, 'too-large'],
  );
  await s.end();
});

test('an answer that cannot be read fails its own call at once, and is told', async () => {
  const waiting: Sent[] = [];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    if (waiting.push(m) < 3) return true;
    child.fault('not-json', String(waiting[1]?.id));
    child.write({ jsonrpc: '2.0', id: waiting[2]?.id, method: 'tools/call', result: {} });
    child.fault('not-json');
    ok(child, waiting[0]!, { fine: true });
    return true;
  });
  const all = await Promise.all([1, 2, 3].map(() => s.call('tools/call')));
  assert.deepEqual(
    all.map((e) => e.fault?.reason ?? e.value),
    [{ fine: true }, 'protocol', 'protocol'],
  );
  assert.match(all[1]?.fault?.message ?? '', /answer cannot be read/);
  const what = s.log.lines.map((l) => l.fields.what).filter((w) => w !== undefined);
  assert.deepEqual(what, ['an answer that cannot be read', 'both method and result or error']);
  await s.end();
});

test('a result larger than limits.maxResultBytes is too large', async () => {
  const limits = () => ({ maxResultBytes: 100, listTtlMs: 0 });
  const s = await scene(
    (m, child) => {
      if (m.method !== 'tools/call') return false;
      ok(child, m, { content: 'x'.repeat(200) });
      return true;
    },
    {},
    {},
    { limits },
  );
  assert.equal((await s.call('tools/call')).fault?.reason, 'too-large');
  await s.end();
});

type Row = readonly [name: string, code: unknown, legacy: boolean, want: Record<string, unknown>];
const ERRORS: readonly Row[] = [
  ['invalid params pass', -32602, false, { code: -32602, data: '{"d":1}' }],
  ['internal errors pass', -32603, false, { code: -32603, data: '{"d":1}' }],
  ['codes of the server’s own pass', 42, false, { code: 42, data: '{"d":1}' }],
  ['-32601 would say that we lack the method', -32601, false, { code: -32603, legacyCode: -32601 }],
  ['… but a legacy caller may see it', -32601, true, { code: -32603, legacyCode: -32601, data: '{"d":1}' }],
  ['-32000 means nothing', -32000, false, { code: -32603 }],
  ['… but a legacy caller may see it', -32000, true, { code: -32603, legacyCode: -32000, data: '{"d":1}' }],
  ['-32042 names links that nobody could answer', -32042, true, { code: -32603 }],
  ['-32021 from a legacy server is not ours', -32021, true, { code: -32603 }],
  ['-32050 is reserved', -32050, false, { code: -32603 }],
  ['a code that is a string', '-32602', true, { code: -32603 }],
  ['a code that is a fraction', 1.5, false, { code: -32603 }],
];
for (const [name, code, legacy, want] of ERRORS) {
  test(`an upstream error ${JSON.stringify(code)} for a ${legacy ? 'legacy' : 'modern'} caller: ${name}`, async () => {
    const s = await scene((m, child) => {
      if (m.method !== 'tools/call') return false;
      fail(child, m, code as number, 'bad \u0007 thing', { d: 1 });
      return true;
    });
    const { fault } = await s.call('tools/call', '', { downstreamEra: legacy ? 'legacy' : 'modern' });
    assert.deepEqual(fault, { reason: 'upstream', message: 'bad   thing', mayHaveRun: true, ...want });
    await s.end();
  });
}
