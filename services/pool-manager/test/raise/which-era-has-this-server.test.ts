// What a server's answer to the probe says of its era, and what it is then told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartError } from '../../src/raise/contract.ts';
import {
  connectorOf,
  fail,
  legacyServer,
  modernServer,
  NEVER,
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
    setTimeout(() => legacyServer()(m, child), 1_500);
    return true;
  });
  const { spawn } = spawner(slow);
  const connector = connectorOf({ spawn, timings: { probeMs: 5_000 } });
  // The probe may only use half of it, and uses all of that.
  const connection = await connector.connect(specOf({ startTimeoutMs: 2_000 }), {}, NEVER);
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
