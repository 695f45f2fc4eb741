import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ConnectorDeps } from '../../src/raise/connector.ts';
import type { Connection, Question } from '../../src/raise/contract.ts';
import {
  BOB,
  bytes,
  collect,
  connectorOf,
  type Ended,
  type FakeChild,
  fail,
  legacyServer,
  NEVER,
  notedLog,
  ok,
  openOf,
  type Sent,
  spawner,
  specOf,
} from './fake.ts';

type More = (message: Sent, child: FakeChild) => boolean;

interface Scene {
  readonly connection: Connection;
  readonly child: FakeChild;
  readonly log: ReturnType<typeof notedLog>;
  call(method: string, params?: string, more?: Partial<Open>): Promise<Ended>;
  end(): Promise<void>;
}

async function scene(
  more: More = () => false,
  init: Record<string, unknown> = {},
  spec: Partial<ServerSpec> = {},
  deps: Partial<ConnectorDeps> = {},
): Promise<Scene> {
  const { spawn, children } = spawner(legacyServer(more, init));
  const log = notedLog();
  const connector = connectorOf({ spawn, log, ...deps });
  const connection = await connector.connect(specOf({ era: 'legacy', ...spec }), {}, NEVER);
  return {
    connection,
    child: children[0]!,
    log,
    call(method, params = '', head = {}) {
      const { reply, ended } = collect();
      connection.call(openOf(method, head), bytes(params), reply);
      return ended;
    },
    async end() {
      await connection.stop('test');
      await connector.close();
    },
  };
}

const echo: More = (m, child) => {
  if (m.method !== 'tools/call') return false;
  ok(child, m, { content: [], got: m.params });
  return true;
};
const silent: More = (m) => m.method === 'tools/call';

test('a call goes up as one line of the bytes that came, with our id and token; line breaks between tokens are spaces', async () => {
  const s = await scene(echo);
  const params = '"name":"t",\n "arguments":\r\n{"n":1.0,"big":12345678901234567890,"e":1e2}';
  const head = { meta: '"vendor/x":{"a":1}', trace: { traceparent: '00-1-2-01', tracestate: 'v=1' } };
  await s.call('tools/call', params, head);
  assert.equal(
    s.child.raw.at(-1),
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2,"traceparent":"00-1-2-01",' +
      '"tracestate":"v=1","vendor/x":{"a":1}},"name":"t",  "arguments":  {"n":1.0,"big":12345678901234567890,"e":1e2}}}',
  );
  await s.end();
});

test('reserved names never go up, even if a gateway let them through', async () => {
  const s = await scene(echo);
  await s.call('tools/call', '"name":"t"', {
    meta: '"io.modelcontextprotocol/logLevel":"debug","progressToken":"mine","v":1',
  });
  assert.deepEqual(s.child.received.at(-1)?.params?._meta, { progressToken: 2, v: 1 });
  await s.end();
});

test('a result comes back with the bytes the server wrote, without _meta and resultType', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    child.line(
      `{"result":{"content":[{"type":"text","text":"\\u00e9"}],"_meta":{"io.modelcontextprotocol/x":1,"v/y":2.50},"n":1.0,"resultType":"odd"},"jsonrpc":"2.0","id":${m.id}}`,
    );
    return true;
  });
  const { result, text } = await s.call('tools/call', '"name":"t"');
  assert.deepEqual(result, { resultType: 'complete', meta: '"v/y":2.50' });
  assert.equal(text, '"content":[{"type":"text","text":"\\u00e9"}],"n":1.0');
  await s.end();
});

test('GB-089: structuredContent and unknown members pass', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    ok(child, m, { content: [], structuredContent: { a: [1] }, future: true });
    return true;
  });
  assert.deepEqual((await s.call('tools/call', '"name":"t"')).value, {
    content: [],
    structuredContent: { a: [1] },
    future: true,
  });
  await s.end();
});

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

test('a resource not found, by -32002 or by empty contents, is -32602 with its uri; a legacy caller still gets -32002', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'resources/read') return false;
    if (m.params?.uri === 'a:1') fail(child, m, -32002, 'gone');
    else ok(child, m, { contents: [] });
    return true;
  });
  const one = await s.call('resources/read', '"uri":"a:1"', { name: 'a:1' });
  const two = await s.call('resources/read', '"uri":"a:2"', { name: 'a:2' });
  const want = { reason: 'upstream', code: -32602, legacyCode: -32002, mayHaveRun: true };
  assert.deepEqual(one.fault, { ...want, message: 'gone', data: '{"uri":"a:1"}' });
  assert.deepEqual(two.fault, { ...want, message: 'Resource not found', data: '{"uri":"a:2"}' });
  await s.end();
});

test('GB-055: reads get the caching fields that are missing or wrong, and keep those that are right', async () => {
  const extra: Record<string, object> = {
    none: {},
    wrong: { ttlMs: -1, cacheScope: null },
    right: { ttlMs: 77, cacheScope: 'public' },
  };
  const s = await scene((m, child) => {
    if (m.method !== 'resources/read') return false;
    ok(child, m, { contents: [{ uri: 'a:1', text: '' }], ...extra[m.params?.uri as string] });
    return true;
  });
  const fields = async (uri: string) => {
    const { value } = await s.call('resources/read', `"uri":"${uri}"`);
    return [value?.ttlMs, value?.cacheScope];
  };
  assert.deepEqual(await fields('none'), [0, 'private']);
  assert.deepEqual(await fields('wrong'), [0, 'private']);
  assert.deepEqual(await fields('right'), [77, 'public']);
  await s.end();
});

test('discover is answered from the introduction and never goes up', async () => {
  const capabilities = { tools: { listChanged: true }, logging: {}, tasks: { list: {} }, experimental: { x: {} } };
  const s = await scene(() => false, { capabilities, instructions: 'be nice', protocolVersion: '2025-03-26' });
  const { value, started } = await s.call('server/discover');
  assert.deepEqual(value, {
    supportedVersions: ['2025-03-26'],
    capabilities: { tools: { listChanged: true }, experimental: { x: {} }, logging: {} },
    instructions: 'be nice',
    ttlMs: 1234,
    cacheScope: 'private',
    'lk/era': 'legacy',
    'lk/revision': '2025-03-26',
  });
  assert.equal(started, false);
  assert.deepEqual(s.child.methods(), ['initialize', 'notifications/initialized']);
  await s.end();
});

test('what the server did not declare is not asked of it', async () => {
  const s = await scene(() => false, { capabilities: { tools: {}, resources: {} } });
  for (const method of ['prompts/list', 'completion/complete', 'resources/subscribe', 'tasks/get', 'future/thing']) {
    const { fault } = await s.call(method);
    assert.deepEqual([fault?.code, fault?.legacyCode, fault?.mayHaveRun], [-32603, -32601, false], method);
  }
  assert.deepEqual(s.child.methods(), ['initialize', 'notifications/initialized']);
  await s.end();
});

test('completion of a 2024-11-05 server is tried undeclared, and its context is dropped', async () => {
  const s = await scene(
    (m, child) => {
      if (m.method !== 'completion/complete') return false;
      ok(child, m, { completion: { values: Object.keys(m.params ?? {}) } });
      return true;
    },
    { protocolVersion: '2024-11-05', capabilities: {} },
  );
  const { value } = await s.call(
    'completion/complete',
    '"ref":{},"context":{"arguments":{"a":"1"}},"argument":{"name":"x"}',
  );
  assert.deepEqual(value, { completion: { values: ['_meta', 'ref', 'argument'] } });
  await s.end();
});

test('subscribe and unsubscribe go up as they are', async () => {
  const s = await scene((m, child) => {
    if (!m.method?.startsWith('resources/')) return false;
    ok(child, m, {});
    return true;
  });
  assert.deepEqual((await s.call('resources/subscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual((await s.call('resources/unsubscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual(s.child.methods().slice(-2), ['resources/subscribe', 'resources/unsubscribe']);
  await s.end();
});

test('a state or a re-join for a process that parks nothing is an unknown exchange', async () => {
  const s = await scene(echo);
  assert.equal((await s.call('tools/call', '', { state: '' })).fault?.reason, 'unknown-exchange');
  assert.equal((await s.call('tools/call', '', { wait: true })).fault?.reason, 'unknown-exchange');
  await s.end();
});

test('every request of the server is answered at once: ping with {}, what was not declared with its code', async () => {
  const asks = [
    { id: 'p"1', method: 'ping' },
    { id: 7, method: 'roots/list' },
    { id: 8, method: 'sampling/createMessage', params: { messages: [] } },
    { id: 9, method: 'elicitation/create', params: { message: 'x', requestedSchema: {} } },
    { id: 10, method: 'elicitation/create', params: { mode: 'url', url: 'https://x.example' } },
    { id: 11, method: 'future/ask' },
  ];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    for (const ask of asks) child.write({ jsonrpc: '2.0', ...ask });
    ok(child, m, {});
    return true;
  });
  await s.call('tools/call');
  const answers = s.child.received.filter((m) => m.method === undefined);
  assert.deepEqual(
    answers.map((a) => [a.id, a.error?.code ?? a.result]),
    [
      ['p"1', {}],
      [7, -32601],
      [8, -32601],
      [9, -32601],
      [10, -32602],
      [11, -32601],
    ],
  );
  await s.end();
});

test('a declared question goes to whoever carries questions, with the call that runs, and is answered through it', async () => {
  const asked: Question[] = [];
  const withdrawn: string[] = [];
  const questions = {
    ask: (_c: Connection, q: Question) => void asked.push({ ...q, params: q.params.slice() }),
    withdraw: (_c: Connection, id: string) => void withdrawn.push(id),
  };
  const { spawn, children } = spawner(
    legacyServer((m, child) => {
      if (m.method !== 'tools/call') return m.method === undefined;
      child.write({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: { message: 'name?' } });
      return true;
    }),
  );
  const connector = connectorOf({ spawn, questions });
  const connection = await connector.connect(specOf({ era: 'legacy' }), { elicitation: { form: {} } }, NEVER);
  const head = openOf('tools/call');
  connection.call(head, bytes(''), collect().reply);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked[0]?.asker?.xid, head.xid);
  assert.equal(Buffer.from(asked[0]!.params).toString(), '{"message":"name?"}');
  asked[0]?.answer(bytes('{"action":"accept",\n"content":{}}'));
  assert.equal(children[0]?.raw.at(-1), '{"jsonrpc":"2.0","id":"q1","result":{"action":"accept", "content":{}}}');
  children[0]?.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q1' } });
  assert.deepEqual(withdrawn, ['"q1"']);
  await connection.stop('test');
  await connector.close();
});

test('changes are handed on, with the resource they name', async () => {
  const changes: unknown[] = [];
  const s = await scene(() => false, {}, {}, { onChange: (spec, change) => void changes.push([spec.name, change]) });
  s.child.write({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  s.child.write({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:1' } });
  assert.deepEqual(changes, [
    ['fake', { method: 'notifications/tools/list_changed' }],
    ['fake', { method: 'notifications/resources/updated', uri: 'a:1' }],
  ]);
  await s.end();
});
