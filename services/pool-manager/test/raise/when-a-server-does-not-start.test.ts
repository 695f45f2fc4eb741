// Starts that fail: how often they are tried, who hears what, and that no process of them stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartError } from '../../src/raise/contract.ts';
import { clockAt, connectorOf, legacyServer, memoryStore, modernServer, NEVER, spawner, specOf } from './fake.ts';

test('GB-028: a failed start is remembered nowhere but in a short back-off', async () => {
  const store = memoryStore();
  const time = clockAt(0);
  let works = false;
  const { spawn } = spawner((m, child) => (works ? modernServer()(m, child) : child.exit('exited with code 3')));
  const connector = connectorOf({ spawn, store, clock: time.clock });
  await assert.rejects(connector.profile(specOf(), NEVER), /exited with code 3/);
  assert.deepEqual(await store.scan('lk:{acme}:era'), []);
  assert.equal(connector.backingOff?.(), 1);
  works = true;
  await assert.rejects(connector.profile(specOf(), NEVER), /exited with code 3/);
  time.now += 60;
  assert.equal(connector.backingOff?.(), 0);
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
