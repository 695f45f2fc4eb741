import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ConnectorDeps } from '../../src/raise/connector.ts';
import type { Connection } from '../../src/raise/contract.ts';
import {
  bytes,
  clockAt,
  collect,
  connectorOf,
  type Ended,
  type FakeChild,
  fail,
  MODERN_DISCOVER,
  memoryStore,
  modernServer,
  NEVER,
  notedLog,
  ok,
  openOf,
  type Sent,
  spawner,
  specOf,
} from './fake.ts';

type More = (message: Sent, child: FakeChild) => boolean;
const QUESTIONS = { ask: () => {}, withdraw: () => {} };
const PREFIX = 'io.modelcontextprotocol/';

interface Scene {
  readonly connection: Connection;
  readonly child: FakeChild;
  readonly log: ReturnType<typeof notedLog>;
  call(method: string, params?: string, more?: Partial<Open>): Promise<Ended>;
  end(): Promise<void>;
}

async function scene(more: More, spec: Partial<ServerSpec> = {}, deps: Partial<ConnectorDeps> = {}): Promise<Scene> {
  const { spawn, children } = spawner(modernServer(more));
  const log = notedLog();
  const connector = connectorOf({ spawn, log, ...deps });
  const connection = await connector.connect(specOf(spec), {}, NEVER);
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

const tool =
  (answer: (m: Sent, child: FakeChild) => void): More =>
  (m, child) => {
    if (m.method !== 'tools/call') return false;
    answer(m, child);
    return true;
  };
const answering = (result: unknown) => tool((m, child) => ok(child, m, result));

test('every request carries the whole envelope, then the bytes that came', async () => {
  const s = await scene(answering({ resultType: 'complete', content: [] }));
  await s.call('tools/call', '"name":"t","arguments":{"n":1.0}', { logLevel: 'info', meta: '"v/x":1' });
  assert.equal(
    s.child.raw.at(-1),
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"${PREFIX}protocolVersion":"2026-07-28",` +
      `"${PREFIX}clientInfo":{"name":"lockkeeper","version":"0.1.0"},"${PREFIX}clientCapabilities":{},` +
      `"${PREFIX}logLevel":"info","progressToken":2,"v/x":1},"name":"t","arguments":{"n":1.0}}}`,
  );
  await s.end();
});

test('the client’s capabilities are those of this request that can be carried back, ask and isolation applied', async () => {
  const declared = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {}, experimental: { x: {} } };
  const told = async (spec: Partial<ServerSpec>, deps: Partial<ConnectorDeps>) => {
    const s = await scene(answering({}), spec, deps);
    await s.call('tools/call', '', { capabilities: declared });
    await s.call('tools/call', '', { capabilities: {} });
    const sent = s.child.received.slice(-2).map((m) => m.params?._meta?.[`${PREFIX}clientCapabilities`]);
    await s.end();
    return sent;
  };
  assert.deepEqual(await told({}, {}), [{}, {}]);
  const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
  assert.deepEqual(await told({}, { questions: QUESTIONS }), [all, {}]);
  const ask = { roots: 'never', sampling: 'never', elicitation: 'caller' } as const;
  assert.deepEqual(await told({ ask }, { questions: QUESTIONS }), [{ elicitation: { form: {}, url: {} } }, {}]);
  assert.deepEqual(await told({ isolation: 'shared' }, { questions: QUESTIONS }), [{}, {}]);
});

test('a result comes back without the server’s identity; vendor meta and unknown members pass', async () => {
  const s = await scene(
    answering({
      resultType: 'complete',
      content: [],
      x: 1,
      _meta: { [`${PREFIX}serverInfo`]: { name: 'fake' }, 'v/y': 2 },
    }),
  );
  const { result, value } = await s.call('tools/call');
  assert.deepEqual(result, { resultType: 'complete', meta: '"v/y":2' });
  assert.deepEqual(value, { content: [], x: 1 });
  await s.end();
});

const TYPES: readonly (readonly [unknown, string | null])[] = [
  [undefined, null],
  ['complete', null],
  ['task', 'protocol'],
  ['weird', 'protocol'],
  ['', 'protocol'],
  [7, 'protocol'],
  [null, 'protocol'],
];
for (const [resultType, reason] of TYPES) {
  test(`GB-057: resultType ${JSON.stringify(resultType)} is ${reason === null ? 'complete' : 'a breach'}`, async () => {
    const s = await scene(answering({ resultType, content: [] }));
    const ended = await s.call('tools/call');
    assert.equal(ended.fault?.reason ?? null, reason);
    if (reason === null) assert.equal(ended.result?.resultType, 'complete');
    await s.end();
  });
}

const form = { method: 'elicitation/create', params: { message: 'n?', requestedSchema: {} } };
const url = { method: 'elicitation/create', params: { mode: 'url', url: 'https://x.example', message: 'open' } };
const sample = { method: 'sampling/createMessage', params: { messages: [], tools: [] } };
const roots = { method: 'roots/list' };

const ROUNDS: readonly (readonly [string, object, object, string | null])[] = [
  ['a form, declared', { elicitation: {} }, { inputRequests: { a: form } }, null],
  ['a url, only forms declared', { elicitation: { form: {} } }, { inputRequests: { a: url } }, 'protocol'],
  ['a url, declared', { elicitation: { url: {} } }, { inputRequests: { a: url } }, null],
  ['a form, only urls declared', { elicitation: { url: {} } }, { inputRequests: { a: form } }, 'protocol'],
  ['sampling with tools, not declared so', { sampling: {} }, { inputRequests: { a: sample } }, 'protocol'],
  ['sampling with tools, declared', { sampling: { tools: {} } }, { inputRequests: { a: sample } }, null],
  ['roots without params, declared', { roots: {} }, { inputRequests: { a: roots } }, null],
  ['nothing declared', {}, { inputRequests: { a: form } }, 'protocol'],
  ['another method', { roots: {} }, { inputRequests: { a: { method: 'ping' } } }, 'protocol'],
  ['questions that are a list', { roots: {} }, { inputRequests: [] }, 'protocol'],
  ['neither questions nor state', {}, {}, 'protocol'],
  ['state alone', {}, { requestState: '' }, null],
  ['a state that is no string', {}, { requestState: 7 }, 'protocol'],
];
for (const [name, capabilities, result, reason] of ROUNDS) {
  test(`input_required with ${name} ${reason === null ? 'is passed on' : 'is a breach'}`, async () => {
    const s = await scene(answering({ resultType: 'input_required', ...result }), {}, { questions: QUESTIONS });
    const ended = await s.call('tools/call', '', { capabilities });
    assert.equal(ended.fault?.reason ?? null, reason);
    await s.end();
  });
}

test('input_required of a method that has no rounds is a breach', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'completion/complete') return false;
    ok(child, m, { resultType: 'input_required', requestState: 's' });
    return true;
  });
  assert.equal((await s.call('completion/complete')).fault?.reason, 'protocol');
  await s.end();
});

test('a round keeps its questions byte for byte, carries no caching, and its state apart; the retry brings both back', async () => {
  const s = await scene(
    tool((m, child) => {
      if (m.params?.requestState !== undefined) ok(child, m, { resultType: 'complete', content: [] });
      else {
        child.line(
          `{"jsonrpc":"2.0","id":${m.id},"result":{"resultType":"input_required","requestState":"s\\u0041\\n","ttlMs":5,"inputRequests":{"k":{"method":"roots/list"}, "l":{"method":"roots/list","params":{}}}}}`,
        );
      }
    }),
    {},
    { questions: QUESTIONS },
  );
  const round = await s.call('tools/call', '"name":"t"', { capabilities: { roots: {} } });
  assert.deepEqual(round.result, { resultType: 'input_required', state: 'sA\n' });
  assert.equal(round.text, '"inputRequests":{"k":{"method":"roots/list"}, "l":{"method":"roots/list","params":{}}}');
  await s.call('tools/call', '"name":"t","inputResponses":{"k":{"roots":[]}}', { state: 'sA\n' });
  const sent = s.child.received.at(-1);
  assert.deepEqual([sent?.params?.requestState, sent?.params?.inputResponses], ['sA\n', { k: { roots: [] } }]);
  await s.call('tools/call', '"name":"t"', { state: '' });
  assert.equal(s.child.received.at(-1)?.params?.requestState, '');
  await s.call('tools/call', '"name":"t","inputResponses":{}');
  assert.ok(!('requestState' in s.child.received.at(-1)!.params!));
  await s.end();
});

test('a refusal that modern answers cannot say gives the call up without asking the server again', async () => {
  const s = await scene(answering({ content: [] }));
  const answers = '"inputResponses":{"k":{"lk/error":{"code":-1,"message":"no"}}}';
  const { value } = await s.call('tools/call', `"name":"t",${answers}`, { state: 's' });
  assert.equal(value?.isError, true);
  assert.deepEqual(s.child.methods(), ['server/discover']);
  await s.end();
});

test('-32022 with our revision in its list is retried once under a new id', async () => {
  let times = 0;
  const s = await scene(
    tool((m, child) => {
      if (times++ === 0) fail(child, m, -32022, 'x', { supported: ['2027-01-01', '2026-07-28'] });
      else ok(child, m, { content: [] });
    }),
  );
  assert.equal((await s.call('tools/call')).result?.resultType, 'complete');
  assert.deepEqual(
    s.child.received.slice(-2).map((m) => m.id),
    [2, 3],
  );
  await s.end();
});

test('-32022 for ever is a breach after one retry', async () => {
  const s = await scene(tool((m, child) => fail(child, m, -32022, 'x', { supported: ['2026-07-28'] })));
  assert.equal((await s.call('tools/call')).fault?.reason, 'protocol');
  assert.equal(s.child.methods().filter((m) => m === 'tools/call').length, 2);
  await s.end();
});

test('-32022 without a revision in common fails that call and drops the verdict', async () => {
  const store = memoryStore();
  const s = await scene(
    tool((m, child) => fail(child, m, -32022, 'x', { supported: ['2027-01-01'] })),
    {},
    { store },
  );
  assert.equal((await store.scan('lk:{acme}:era')).length, 1);
  const { fault } = await s.call('tools/call');
  assert.deepEqual([fault?.reason, fault?.code], ['upstream', -32603]);
  await s.end();
  assert.deepEqual(await store.scan('lk:{acme}:era'), []);
});

test('-32021 reaches the caller with what it lacks; what we held back ourselves is not its fault', async () => {
  const requiredCapabilities = { elicitation: { url: {} } };
  const s = await scene(tool((m, child) => fail(child, m, -32021, 'need', { requiredCapabilities, secret: 1 })));
  const lacks = await s.call('tools/call', '', { capabilities: { elicitation: {} } });
  assert.deepEqual(lacks.fault, {
    reason: 'capability',
    code: -32021,
    message: 'need',
    data: '{"requiredCapabilities":{"elicitation":{"url":{}}}}',
    mayHaveRun: false,
  });
  const has = await s.call('tools/call', '', { capabilities: { elicitation: { url: {} } } });
  assert.deepEqual([has.fault?.reason, has.fault?.code], ['upstream', -32603]);
  await s.end();
});

test('-32020 and -32601 are never shown', async () => {
  for (const code of [-32020, -32601]) {
    const s = await scene(tool((m, child) => fail(child, m, code, 'x')));
    const { fault } = await s.call('tools/call', '', { downstreamEra: 'legacy' });
    assert.deepEqual([fault?.reason, fault?.code], ['upstream', -32603]);
    assert.equal(fault?.legacyCode, code === -32601 ? -32601 : undefined);
    await s.end();
  }
});

test('a request from a modern server is a breach: not answered, and the call goes on', async () => {
  const s = await scene(
    tool((m, child) => {
      child.write({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
      child.write({ jsonrpc: '2.0', id: 'p', method: 'ping' });
      ok(child, m, { content: [] });
    }),
  );
  assert.equal((await s.call('tools/call')).result?.resultType, 'complete');
  assert.ok(s.child.received.every((m) => m.method !== undefined));
  assert.equal(s.log.lines.filter((l) => /from a modern server/.test(String(l.fields.what))).length, 2);
  await s.end();
});

test('log messages go to the one open call that asked for logs', async () => {
  const waiting: Sent[] = [];
  const s = await scene(
    tool((m, child) => {
      if (waiting.push(m) < 2) return;
      child.write({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } });
      for (const w of waiting.splice(0)) ok(child, w, {});
    }),
  );
  const one = await Promise.all([s.call('tools/call', '', { logLevel: 'error' }), s.call('tools/call')]);
  assert.deepEqual(
    one.map((e) => e.events.length),
    [1, 0],
  );
  const both = await Promise.all([1, 2].map(() => s.call('tools/call', '', { logLevel: 'error' })));
  assert.deepEqual(
    both.map((e) => e.events.length),
    [0, 0],
  );
  await s.end();
});

test('a shared process is asked for no logs', async () => {
  const s = await scene(answering({}), { isolation: 'shared' });
  await s.call('tools/call', '', { logLevel: 'debug' });
  assert.ok(!(`${PREFIX}logLevel` in s.child.received.at(-1)!.params!._meta!));
  await s.end();
});

test('a cancelled call leaves no taint: the process keeps nothing of it', async () => {
  const s = await scene(tool(() => {}));
  const { reply, ended } = collect();
  s.connection.call(openOf('tools/call'), bytes(''), reply).cancel('left');
  assert.equal((await ended).fault?.reason, 'cancelled');
  assert.deepEqual(s.child.received.at(-1)?.params, { requestId: 2, reason: 'left' });
  assert.equal(s.connection.tainted, false);
  await s.end();
});

test('subscribe is answered here: delivery is a listen’s', async () => {
  const s = await scene(() => false);
  assert.deepEqual((await s.call('resources/subscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual((await s.call('resources/unsubscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual(s.child.methods(), ['server/discover']);
  await s.end();
});

test('discover is asked upstream when its ttl is over, and remembered while it lasts', async () => {
  const time = clockAt(1_000);
  const result = { ...MODERN_DISCOVER, ttlMs: 50, instructions: 'hi', 'lk/era': 'forged', future: [1.0] };
  const s = await scene(
    (m, child) => {
      if (m.method !== 'server/discover') return false;
      ok(child, m, result);
      return true;
    },
    {},
    { clock: time.clock },
  );
  const { value } = await s.call('server/discover');
  assert.deepEqual(value, {
    supportedVersions: ['2026-07-28'],
    capabilities: MODERN_DISCOVER.capabilities,
    instructions: 'hi',
    future: [1],
    ttlMs: 50,
    cacheScope: 'public',
    'lk/era': 'modern',
    'lk/revision': '2026-07-28',
  });
  await s.call('server/discover');
  assert.equal(s.child.methods().length, 2);
  time.now += 51;
  await s.call('server/discover');
  assert.equal(s.child.methods().length, 3);
  await s.end();
});

test('a read without caching fields gets them; a call gets none', async () => {
  const t = await scene((m, child) => {
    if (m.method === 'server/discover') return false;
    ok(child, m, { contents: [] });
    return true;
  });
  assert.deepEqual((await t.call('resources/read', '"uri":"a:1"')).value, {
    contents: [],
    ttlMs: 0,
    cacheScope: 'private',
  });
  assert.deepEqual((await t.call('tools/call')).value, { contents: [] });
  await t.end();
});

test('discover hides what cannot be carried: tasks, and the logs of a shared process', async () => {
  const extensions = { 'io.modelcontextprotocol/tasks': {}, 'v/x': {} };
  const result = { ...MODERN_DISCOVER, capabilities: { tools: {}, logging: {}, extensions } };
  const s = await scene(
    (m, child) => {
      if (m.method !== 'server/discover') return false;
      ok(child, m, result);
      return true;
    },
    { isolation: 'shared' },
  );
  const { value } = await s.call('server/discover');
  assert.deepEqual(value?.capabilities, { tools: {}, extensions: { 'v/x': {} } });
  await s.end();
});
