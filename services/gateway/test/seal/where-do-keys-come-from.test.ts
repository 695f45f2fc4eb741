import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { loadSealKeys, retakeSealKeys } from '../../src/seal/keys.ts';
import { createSealRing } from '../../src/seal/ring.ts';

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
  // Stands for Redis here: what is kept is the same, only a shared store is worth a warning.
  const store = { ...newStore(), kind: 'redis' as const };
  const said: string[] = [];
  const load = () =>
    loadSealKeys({ state: { kind: 'redis', url: 'redis://x' } }, { store, warn: (words) => void said.push(words) });
  const [a, b] = await Promise.all([load(), load()]);
  assert.deepEqual(a, b);
  assert.equal(said.length, 2);
  assert.match(said[0]!, /seal\.keys/);
  assert.ok(!a.keys[0]!.key.includes(a.keys[0]!.kid.slice('auto-'.length)));
});

test('GB-058: a reload takes new keys, what the old one sealed stays readable; unfit keys are said and not taken', () => {
  const key = (kid: string) => ({ kid, key: `${kid}-`.repeat(20) });
  const ring = createSealRing({ keys: { keys: [key('a')] }, now: () => 1000 });
  const place = { tenant: 'acme', route: '/acme/mcp' };
  const old = ring.seal('state', 1, place, 1000)!;
  const said: string[] = [];
  const warn = (words: string) => void said.push(words);
  retakeSealKeys(ring, { seal: { keys: [key('b'), key('a')], sealWith: 'b' } }, warn);
  assert.match(ring.seal('state', 1, place, 1000)!, /^lk1\.b\./);
  assert.equal(ring.open('state', old, place), 1);
  retakeSealKeys(ring, { seal: { keys: [{ kid: 'c', key: 'short' }] } }, warn);
  retakeSealKeys(ring, {}, warn);
  assert.match(ring.seal('state', 1, place, 1000)!, /^lk1\.b\./);
  assert.equal(said.length, 1);
  assert.match(said[0]!, /shorter than 32/);
  assert.doesNotMatch(said[0]!, /"short"/);
});
