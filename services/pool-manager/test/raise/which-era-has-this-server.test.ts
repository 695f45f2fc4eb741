import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { StartError } from '../../src/raise/contract.ts';
import {
  clockAt,
  connectorOf,
  fail,
  legacyServer,
  memoryStore,
  modernServer,
  NEVER,
  ok,
  type Script,
  type Sent,
  spawner,
  specOf,
} from './fake.ts';

const exitOnProbe: Script = (message, child) => {
  if (message.method !== 'initialize' && message.method !== 'notifications/initialized')
    child.exit('exited with code 0');
  else legacyServer()(message, child);
};
const answering = (answer: (message: Sent) => unknown): Script =>
  legacyServer((message, child) => {
    if (message.method !== 'server/discover') return false;
    child.write(answer(message));
    return true;
  });
const errorTo = (code: number, data?: unknown) =>
  answering((m) => ({ jsonrpc: '2.0', id: m.id, error: { code, message: 'no', data } }));

const LEGACY: readonly (readonly [string, Script])[] = [
  ['-32601', errorTo(-32601)],
  ['-32602', errorTo(-32602)],
  ['-32600', errorTo(-32600)],
  ['-32000', errorTo(-32000)],
  ['-32022 without a list', errorTo(-32022)],
  ['an error without id', answering(() => ({ jsonrpc: '2.0', error: { code: -32600, message: 'no id' } }))],
  ['an error with id null', answering(() => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } }))],
  ['an empty result', answering((m) => ({ jsonrpc: '2.0', id: m.id, result: {} }))],
  ['a result of another kind', answering((m) => ({ jsonrpc: '2.0', id: m.id, result: { tools: [] } }))],
  ['a string as result', answering((m) => ({ jsonrpc: '2.0', id: m.id, result: 'hello' }))],
  [
    'both kinds of answer',
    answering((m) => ({ jsonrpc: '2.0', id: m.id, result: {}, error: { code: 1, message: '' } })),
  ],
  [
    'a discover result that names only legacy revisions',
    answering((m) => ({ jsonrpc: '2.0', id: m.id, result: { supportedVersions: ['2025-11-25'], capabilities: {} } })),
  ],
  ['-32022 that lists only a legacy revision', errorTo(-32022, { supported: ['2025-06-18'] })],
];

for (const [name, script] of LEGACY) {
  test(`GB-034: ${name} to the probe is a legacy server, which is then initialised on a fresh process`, async () => {
    const { spawn, children } = spawner(script);
    const connector = connectorOf({ spawn });
    const connection = await connector.connect(specOf(), {}, NEVER);
    assert.equal(connection.profile.era, 'legacy');
    assert.deepEqual(children[0]?.methods(), ['server/discover']);
    assert.deepEqual(children[1]?.methods(), ['initialize', 'notifications/initialized']);
    assert.equal(children.length, 2);
    await connection.stop('test');
    await connector.close();
    assert.ok(children.every((c) => c.exited !== null));
  });
}

test('GB-035: a server silent on the probe is legacy after the probe’s own short deadline', async () => {
  const { spawn, children } = spawner(legacyServer((m) => m.method === 'server/discover'));
  const connector = connectorOf({ spawn, timings: { probeMs: 30 } });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.evidence, 'no answer to server/discover (weak)');
  assert.equal(children.length, 2);
  await connection.stop('test');
  await connector.close();
});

test('GB-036: the introduction has a fresh deadline, however long the probe took', async () => {
  const slow = legacyServer((m, child) => {
    if (m.method === 'server/discover') return true;
    if (m.method !== 'initialize') return false;
    setTimeout(() => legacyServer()(m, child), 150);
    return true;
  });
  const { spawn } = spawner(slow);
  const connector = connectorOf({ spawn, timings: { probeMs: 5_000 } });
  // The probe may only use half of it, and uses all of that.
  const connection = await connector.connect(specOf({ startTimeoutMs: 200 }), {}, NEVER);
  assert.equal(connection.profile.era, 'legacy');
  await connection.stop('test');
  await connector.close();
});

test('GB-037: a server that exits on the probe is started again and initialised', async () => {
  const { spawn, children } = spawner(exitOnProbe);
  const connector = connectorOf({ spawn });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.evidence, 'ended on server/discover (weak)');
  assert.equal(children.length, 2);
  await connection.stop('test');
  await connector.close();
});

test('GB-042: a bridge that answers the probe with an error and ends is legacy, and the next process is not probed', async () => {
  const bridge: Script = (message, child) => {
    if (message.method === 'initialize' || message.id === undefined) {
      legacyServer()(message, child);
      return;
    }
    fail(child, message, -32000, 'Server not initialized');
    child.exit('exited with code 0');
  };
  const { spawn, children } = spawner(bridge);
  const connector = connectorOf({ spawn });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'legacy');
  assert.deepEqual(children[1]?.methods(), ['initialize', 'notifications/initialized']);
  await connection.stop('test');
  await connector.close();
});

for (const code of [-32020, -32021]) {
  test(`${code} to the probe is a modern server and nothing is initialised`, async () => {
    const { spawn, children } = spawner(errorTo(code));
    const connector = connectorOf({ spawn });
    const connection = await connector.connect(specOf(), {}, NEVER);
    assert.equal(connection.profile.era, 'modern');
    assert.deepEqual(children[0]?.methods(), ['server/discover']);
    await connection.stop('test');
    await connector.close();
  });
}

test('GB-039: -32022 without a revision in common is an error that names both sets, and no initialize', async () => {
  const { spawn, children } = spawner(errorTo(-32022, { supported: ['2026-10-01'], requested: '2026-07-28' }));
  const connector = connectorOf({ spawn });
  await assert.rejects(connector.connect(specOf(), {}, NEVER), (error: unknown) => {
    assert.ok(error instanceof StartError);
    assert.match(error.words, /2026-10-01.*2026-07-28/);
    return true;
  });
  assert.deepEqual(
    children.flatMap((c) => c.methods()),
    ['server/discover'],
  );
  await connector.close();
});

test('GB-039: -32022 with our revision in its list is asked once more and is modern', async () => {
  let asked = 0;
  const { spawn } = spawner(
    modernServer((m, child) => {
      if (m.method !== 'server/discover' || asked++ > 0) return false;
      fail(child, m, -32022, 'Unsupported', { supported: ['2026-07-28'] });
      return true;
    }),
  );
  const connector = connectorOf({ spawn });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  assert.equal(asked, 2);
  await connection.stop('test');
  await connector.close();
});

test('GB-043: the first thing an unknown server gets is server/discover with a full envelope, and the probe is no serving legacy process', async () => {
  const { spawn, children } = spawner(legacyServer());
  const connector = connectorOf({ spawn });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.deepEqual(children[0]?.received[0], {
    jsonrpc: '2.0',
    id: 1,
    method: 'server/discover',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'lockkeeper', version: '0.1.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  assert.notEqual(children[0]?.exited, null);
  assert.equal(children[1]?.exited, null);
  await connection.stop('test');
  await connector.close();
});

test('the probe of a modern server goes on as its first process', async () => {
  const { spawn, children } = spawner(modernServer());
  const connector = connectorOf({ spawn });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(children.length, 1);
  await connection.stop('test');
  await connector.close();
});

test('the verdict is shared: a second node asks nobody, and callers at once cause one probe', async () => {
  const store = memoryStore();
  const first = spawner(legacyServer());
  const a = connectorOf({ spawn: first.spawn, store });
  const profiles = await Promise.all([
    a.profile(specOf(), NEVER),
    a.profile(specOf(), NEVER),
    a.profile(specOf(), NEVER),
  ]);
  assert.equal(new Set(profiles).size, 1);
  assert.equal(first.children.length, 2);
  const second = spawner(legacyServer());
  const b = connectorOf({ spawn: second.spawn, store });
  assert.equal((await b.profile(specOf(), NEVER)).era, 'legacy');
  assert.equal(second.children.length, 0);
  await a.close();
  await b.close();
});

test('two nodes at once: one probes, the other waits for its answer', async () => {
  const store = memoryStore();
  const first = spawner(legacyServer());
  const second = spawner(legacyServer());
  const a = connectorOf({ spawn: first.spawn, store });
  const b = connectorOf({ spawn: second.spawn, store });
  const found = await Promise.all([a.profile(specOf(), NEVER), b.profile(specOf(), NEVER)]);
  assert.deepEqual(
    found.map((p) => p.era),
    ['legacy', 'legacy'],
  );
  assert.equal(first.children.length + second.children.length, 2);
  await a.close();
  await b.close();
});

test('a verdict of one tenant is not another’s, even for the same command', async () => {
  const { spawn, children } = spawner(modernServer());
  const connector = connectorOf({ spawn });
  await connector.profile(specOf(), NEVER);
  await connector.profile(specOf({ tenant: 'globex' }), NEVER);
  assert.equal(children.length, 2);
  await connector.close();
});

test('a store that fails costs a probe and nothing else', async () => {
  const broken = new Proxy(memoryStore(), {
    get: (target, name) =>
      ['get', 'set', 'setIfAbsent', 'compareAndDelete', 'delete'].includes(String(name))
        ? () => Promise.reject(new Error('down'))
        : Reflect.get(target, name),
  });
  const { spawn } = spawner(modernServer());
  const connector = connectorOf({ spawn, store: broken });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  await connection.stop('test');
  await connector.close();
});

test('GB-028: a failed start is remembered nowhere but in a short back-off', async () => {
  const store = memoryStore();
  const time = clockAt(0);
  let works = false;
  const { spawn } = spawner((m, child) => (works ? modernServer()(m, child) : child.exit('exited with code 3')));
  const connector = connectorOf({ spawn, store, clock: time.clock });
  await assert.rejects(connector.profile(specOf(), NEVER), /exited with code 3/);
  assert.deepEqual(await store.scan('lk:{acme}:era'), []);
  works = true;
  await assert.rejects(connector.profile(specOf(), NEVER), /exited with code 3/);
  time.now += 60;
  assert.equal((await connector.profile(specOf(), NEVER)).era, 'modern');
  await connector.close();
});

test('GB-027: a hundred callers of a broken server cause few starts', async () => {
  const { spawn, children } = spawner((_m, child) => child.exit());
  const connector = connectorOf({ spawn, timings: { backoffMs: 10_000, maxBackoffMs: 10_000 } });
  for (let i = 0; i < 100; i++) await assert.rejects(connector.profile(specOf(), NEVER), StartError);
  assert.equal(children.length, 2);
  await connector.close();
});

test('GB-027: who comes during the back-off hears when it will be tried again, and the operator of each try once', async () => {
  const { spawn } = spawner((_m, child) => child.exit('command not found: foo', 'spawn-failed'));
  const told: string[] = [];
  const onUnusable = (spec: { readonly name: string }, { words }: StartError) => told.push(`${spec.name}: ${words}`);
  const connector = connectorOf({ spawn, onUnusable, timings: { backoffMs: 10_000, maxBackoffMs: 10_000 } });
  await assert.rejects(connector.profile(specOf(), NEVER), /^Error: command not found: foo$/);
  await assert.rejects(connector.profile(specOf(), NEVER), /command not found: foo \(the next try is in \d+ s\)$/);
  assert.deepEqual(told, [`${specOf().name}: command not found: foo`]);
  await connector.close();
});

test('a command that never runs is no evidence: one attempt, no introduction', async () => {
  const { spawn, children } = spawner((_m, child) => child.exit('command not found: foo', 'spawn-failed'));
  const connector = connectorOf({ spawn });
  await assert.rejects(connector.profile(specOf(), NEVER), /command not found: foo/);
  assert.equal(children.length, 1);
  await connector.close();
});

test('a remembered legacy verdict that is contradicted is dropped and asked for once more', async () => {
  const store = memoryStore();
  const before = connectorOf({ spawn: spawner(legacyServer()).spawn, store });
  await before.profile(specOf(), NEVER);
  await before.close();
  const now = spawner(modernServer());
  const connector = connectorOf({ spawn: now.spawn, store });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  assert.deepEqual(
    now.children.map((c) => c.methods()),
    [['initialize'], ['server/discover']],
  );
  await connection.stop('test');
  await connector.close();
});

test('a remembered modern verdict that is contradicted is dropped and asked for once more', async () => {
  const store = memoryStore();
  const before = connectorOf({ spawn: spawner(modernServer()).spawn, store });
  await before.profile(specOf(), NEVER);
  await before.close();
  const now = spawner(legacyServer());
  const connector = connectorOf({ spawn: now.spawn, store });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'legacy');
  await connection.stop('test');
  await connector.close();
});

test('a slow modern server, silent on the probe, refuses initialize and is asked again with all its time', async () => {
  let starts = 0;
  const { spawn } = spawner((m, child) => {
    if (m.method === 'server/discover' && starts++ === 0) return;
    modernServer()(m, child);
  });
  const connector = connectorOf({ spawn, timings: { probeMs: 20 } });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  await connection.stop('test');
  await connector.close();
});

test('an old legacy verdict is asked again behind the next start, so an upgrade to both eras is noticed', async () => {
  const time = clockAt(1_000_000);
  let upgraded = false;
  const dual = legacyServer((m, child) => {
    if (!upgraded || m.method !== 'server/discover') return false;
    modernServer()(m, child);
    return true;
  });
  const connector = connectorOf({ spawn: spawner(dual).spawn, clock: time.clock });
  await (await connector.connect(specOf(), {}, NEVER)).stop('test');
  upgraded = true;
  time.now += 86_400_001;
  const old = await connector.connect(specOf(), {}, NEVER);
  assert.equal(old.profile.era, 'legacy');
  await old.stop('test');
  await eventually(async () => (await connector.profile(specOf(), NEVER)).era === 'modern');
  await connector.close();
});

test('spec.era legacy: no probe; spec.era modern: no fallback', async () => {
  const legacy = spawner(legacyServer());
  const a = connectorOf({ spawn: legacy.spawn });
  const one = await a.connect(specOf({ era: 'legacy' }), {}, NEVER);
  assert.deepEqual(legacy.children[0]?.methods(), ['initialize', 'notifications/initialized']);
  await one.stop('test');
  const b = connectorOf({ spawn: legacy.spawn });
  await assert.rejects(b.connect(specOf({ era: 'modern' }), {}, NEVER), /configured as modern/);
  assert.equal(legacy.children.length, 2);
  await a.close();
  await b.close();
});

const WRONG: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['an unknown revision', { protocolVersion: '1999-12-31' }, /"1999-12-31".*2025-11-25/],
  ['no revision', { protocolVersion: undefined }, /no protocolVersion/],
  ['capabilities that are a list', { capabilities: [] }, /capabilities/],
];
for (const [name, init, words] of WRONG) {
  test(`an answer to initialize with ${name} is a failed start, never cancelled, and its process ends`, async () => {
    const { spawn, children } = spawner(legacyServer(undefined, init));
    const connector = connectorOf({ spawn });
    await assert.rejects(connector.connect(specOf(), {}, NEVER), (error: unknown) => {
      assert.ok(error instanceof StartError);
      assert.match(error.words, words);
      assert.equal(error.stderrTail, 'the tail of stderr');
      return true;
    });
    const sent = children.flatMap((c) => c.methods());
    assert.ok(!sent.includes('notifications/cancelled') && !sent.includes('notifications/initialized'));
    await connector.close();
    assert.ok(children.every((c) => c.exited !== null));
  });
}

test('GB-020: an introduction that times out ends its process and rejects nobody else', async () => {
  const { spawn, children } = spawner((_m, _child) => {});
  const connector = connectorOf({ spawn, timings: { probeMs: 10 } });
  const words = /did not answer initialize within 40 ms/;
  await assert.rejects(connector.connect(specOf({ startTimeoutMs: 40 }), {}, NEVER), words);
  assert.ok(!children.flatMap((c) => c.methods()).includes('notifications/cancelled'));
  await connector.close();
  assert.ok(children.every((c) => c.exited !== null));
});

test('who leaves during a start ends that process, and the verdict is found for the others', async () => {
  const { spawn, children } = spawner(legacyServer((m) => m.method === 'initialize'));
  const connector = connectorOf({ spawn });
  const leaving = new AbortController();
  const start = connector.connect(specOf({ era: 'legacy' }), {}, leaving.signal);
  leaving.abort(new Error('the caller left'));
  await assert.rejects(start, /the caller left/);
  assert.notEqual(children[0]?.exited, null);
  await connector.close();
});

test('initialize offers 2025-11-25, our name, and until questions are carried nothing that asks', async () => {
  const { spawn, children } = spawner(legacyServer());
  const connector = connectorOf({ spawn });
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } };
  const declared = { roots: {}, sampling: {}, elicitation: { form: {} }, extensions: ui };
  const connection = await connector.connect(specOf({ era: 'legacy' }), declared, NEVER);
  assert.deepEqual(children[0]?.received[0], {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { extensions: ui },
      clientInfo: { name: 'lockkeeper', version: '0.1.0' },
    },
  });
  await connection.stop('test');
  await connector.close();
});

test('with questions carried, the projection is declared as it is and is the fingerprint', async () => {
  const { spawn, children } = spawner(legacyServer());
  const connector = connectorOf({ spawn, questions: { ask: () => {}, withdraw: () => {} } });
  const connection = await connector.connect(specOf({ era: 'legacy' }), { elicitation: { form: {} } }, NEVER);
  assert.deepEqual(children[0]?.received[0]?.params?.capabilities, { elicitation: { form: {} } });
  assert.equal(connection.fingerprint, 'elicitation.form');
  await connection.stop('test');
  await connector.close();
});

test('a private discover result stays on its node; the era goes to all', async () => {
  const store = memoryStore();
  const secret = modernServer((m, child) => {
    if (m.method !== 'server/discover') return false;
    const capabilities = { experimental: { mine: {} } };
    ok(child, m, { supportedVersions: ['2026-07-28'], capabilities, cacheScope: 'private', instructions: 'psst' });
    return true;
  });
  const connector = connectorOf({ spawn: spawner(secret).spawn, store });
  assert.equal((await connector.profile(specOf(), NEVER)).instructions, 'psst');
  const [key] = await store.scan('lk:{acme}:era');
  const shared = JSON.parse((await store.get(key!))!) as Record<string, unknown>;
  assert.deepEqual([shared.era, shared.capabilities, shared.instructions], ['modern', {}, undefined]);
  await connector.close();
});
