import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { loadSealKeys } from '../../src/seal/keys.ts';

const newStore = () => createMemoryStore({ clock: systemClock, warn: () => {} });

test('configured keys are taken as they are', async () => {
  const seal = { keys: [{ kid: 'a', key: 'k'.repeat(32) }], sealWith: 'a' };
  const keys = await loadSealKeys({ seal, state: { kind: 'memory' } }, { store: newStore(), warn: assert.fail });
  assert.deepEqual(keys, seal);
});

test('one process makes its own, silently', async () => {
  const keys = await loadSealKeys({ state: { kind: 'memory' } }, { store: newStore(), warn: assert.fail });
  assert.equal(keys.keys.length, 1);
  assert.ok(keys.keys[0]!.key.length >= 32);
});

test('several gateways find one and the same key in the store, and say so', async () => {
  const store = newStore();
  const said: string[] = [];
  const load = () =>
    loadSealKeys({ state: { kind: 'redis', url: 'redis://x' } }, { store, warn: (words) => void said.push(words) });
  const [a, b] = await Promise.all([load(), load()]);
  assert.deepEqual(a, b);
  assert.equal(said.length, 2);
  assert.match(said[0]!, /seal\.keys/);
  assert.ok(!a.keys[0]!.key.includes(a.keys[0]!.kid.slice('auto-'.length)));
});
