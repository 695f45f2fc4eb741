// One process, several calls: to which of them does an answer, a progress notification, a log message belong?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOB, type FakeChild, ok, type Sent } from './fake.ts';
import { type More, scene } from './legacy-scene.ts';

test('GB-079: two callers with the same names at the same time each get their own answer, under ids of ours', async () => {
  const waiting: [Sent, FakeChild][] = [];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    waiting.push([m, child]);
    if (waiting.length === 2) for (const [w, c] of waiting.reverse()) ok(c, w, { who: w.params?.who });
    return true;
  });
  const both = await Promise.all([
    s.call('tools/call', '"who":"alice"'),
    s.call('tools/call', '"who":"bob"', { principal: BOB }),
  ]);
  assert.deepEqual(
    both.map((e) => e.value?.who),
    ['alice', 'bob'],
  );
  assert.deepEqual(new Set(s.child.received.slice(-2).map((m) => m.id)), new Set([2, 3]));
  await s.end();
});

const WRONG_IDS: readonly (readonly [string, (m: Sent) => unknown, string | null])[] = [
  ['the id as a string', (m) => ({ id: String(m.id), result: { stolen: 1 } }), 'protocol'],
  ['no id', () => ({ error: { code: -32600, message: 'what?' } }), 'protocol'],
  ['id null', () => ({ id: null, result: {} }), 'protocol'],
  ['always id 0', () => ({ id: 0, result: {} }), 'protocol'],
  ['neither result nor error', (m) => ({ id: m.id }), 'protocol'],
  ['result and error at once', (m) => ({ id: m.id, result: {}, error: { code: 1, message: '' } }), 'protocol'],
  ['a result that is no object', (m) => ({ id: m.id, result: [1] }), 'protocol'],
];
for (const [name, answer, reason] of WRONG_IDS) {
  test(`GB-082: an answer with ${name} is nobody's, and the caller hears of it at once`, async () => {
    const s = await scene((m, child) => {
      if (m.method !== 'tools/call') return false;
      child.write({ jsonrpc: '2.0', ...(answer(m) as object) });
      return true;
    });
    assert.equal((await s.call('tools/call', '"name":"t"')).fault?.reason, reason);
    await s.end();
  });
}

test('GB-082: answers to ids never sent, and second answers, are dropped and counted; the right one counts', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    child.write({ jsonrpc: '2.0', id: 987654321, result: { stolen: 1 } });
    ok(child, m, { mine: 1 });
    ok(child, m, { mine: 2 });
    return true;
  });
  assert.deepEqual((await s.call('tools/call')).value, { mine: 1 });
  const what = s.log.lines.map((l) => l.fields.what).filter((w) => w !== undefined);
  assert.deepEqual(what, ['answered an id that was never sent', 'answered an id twice']);
  await s.end();
});

test('a 2025-03-26 batch line is taken apart', async () => {
  const waiting: Sent[] = [];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    if (waiting.push(m) < 2) return true;
    child.write([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: waiting[0]?.id, progress: 1 } },
      ...waiting.map((w) => ({ jsonrpc: '2.0', id: w.id, result: { n: w.params?.n } })),
    ]);
    return true;
  });
  const both = await Promise.all([s.call('tools/call', '"n":1', { progress: true }), s.call('tools/call', '"n":2')]);
  assert.deepEqual(
    both.map((e) => e.value),
    [{ n: 1 }, { n: 2 }],
  );
  assert.deepEqual(
    both.map((e) => e.events.length),
    [1, 0],
  );
  await s.end();
});

test('GB-083, GB-084: progress goes to the call whose token it carries, rising only, and only where it was asked for', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    const token = m.params?._meta?.progressToken;
    const progress = (progressToken: unknown, n: number) =>
      child.write({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: n, total: 9, message: `step ${n}`, _meta: { 'v/x': 1 } },
      });
    for (const n of [1, 2, 2, 1, 3]) progress(token, n);
    progress(`tool-call-${token}`, 7);
    progress(String(token), 8);
    progress(999, 9);
    ok(child, m, {});
    return true;
  });
  const asked = await s.call('tools/call', '', { progress: true });
  assert.deepEqual(
    asked.events.map((e) => e.members),
    [1, 2, 3].map((n) => ({ progress: n, total: 9, message: `step ${n}`, _meta: { 'v/x': 1 } })),
  );
  assert.deepEqual((await s.call('tools/call')).events, []);
  await s.end();
});

const logs: More = (m, child) => {
  if (m.method !== 'tools/call') return false;
  for (const level of ['debug', 'info', 'error', 'loud']) {
    child.write({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } });
  }
  ok(child, m, {});
  return true;
};

test('the wanted level is set before the call, once; messages at or above it are relayed', async () => {
  const s = await scene(logs);
  const levels = async (logLevel?: 'info' | 'error') =>
    (await s.call('tools/call', '', logLevel === undefined ? {} : { logLevel })).events.map((e) => e.members.level);
  assert.deepEqual(await levels(), []);
  assert.deepEqual(await levels('info'), ['info', 'error']);
  assert.deepEqual(await levels('info'), ['info', 'error']);
  assert.deepEqual(await levels('error'), ['error']);
  const set = s.child.received.filter((m) => m.method === 'logging/setLevel').map((m) => m.params);
  assert.deepEqual(set, [{ level: 'info' }, { level: 'error' }]);
  assert.ok(s.child.methods().indexOf('logging/setLevel') < s.child.methods().lastIndexOf('tools/call'));
  await s.end();
});

test('with two calls open a message is nobody’s', async () => {
  const waiting: Sent[] = [];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    if (waiting.push(m) < 2) return true;
    child.write({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'whose?' } });
    for (const w of waiting) ok(child, w, {});
    return true;
  });
  const both = await Promise.all([1, 2].map(() => s.call('tools/call', '', { logLevel: 'debug' })));
  assert.deepEqual(
    both.map((e) => e.events),
    [[], []],
  );
  await s.end();
});

test('a shared process keeps its logs: error level, nothing relayed, logging not offered', async () => {
  const s = await scene(logs, {}, { isolation: 'shared' });
  assert.deepEqual(s.child.received.find((m) => m.method === 'logging/setLevel')?.params, { level: 'error' });
  assert.deepEqual((await s.call('tools/call', '', { logLevel: 'debug' })).events, []);
  const { value } = await s.call('server/discover');
  assert.ok(!('logging' in (value!.capabilities as object)));
  await s.end();
});
