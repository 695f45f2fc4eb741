// Two hundred people, twenty servers, room for sixty processes, and everything that goes wrong at once, for as long as CI
// can bear: what crosses, what is left, who gets no answer? Longer: SOAK_SECONDS, or test/soak/run.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soak } from './soak.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 60);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test('nothing crosses, nothing is left, and every call is answered or fails with its cause', async (t) => {
  const say = (words: string): void => {
    for (const line of words.split('\n')) t.diagnostic(line);
  };
  const { faults } = await soak({ seed: SEED, loadMs: SECONDS * 1_000, warmUpMs: 10_000, crowd: 36, say });
  assert.deepEqual(faults, []);
});
