// Of how many ends, and of how large ones, does a node know for those who ask again (protocol.md §5.5 "dup")?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ended } from '../../src/parked/contract.ts';
import { createOutcomes } from '../../src/parked/outcomes.ts';

const MIB = 1024 * 1024;
const bound = { principal: { tenant: 't', issuer: 'i', subject: 's', client: 'c' }, session: null };
const end = (bytes: number): Ended => ({
  kind: 'result',
  head: { resultType: 'complete' },
  members: Buffer.alloc(bytes),
});

function outcomes(maxBytes = 64 * MIB, maxEach = 16 * MIB, maxCount = 20_000) {
  const clock = { time: 0, now: () => clock.time, setTimer: () => ({ clear: () => undefined }) };
  return { kept: createOutcomes(clock, maxBytes, maxEach, maxCount), clock };
}

test('a large one is remembered like any other, and all together take no more than they may', () => {
  const { kept } = outcomes();
  for (let i = 0; i < 10; i++) kept.put(`x${i}`, bound, end(10 * MIB), 60_000);
  const known = Array.from({ length: 10 }, (_, i) => kept.get(`x${i}`, bound) !== null);
  assert.deepEqual(known, [...Array<boolean>(4).fill(false), ...Array<boolean>(6).fill(true)]);
});

test('one that is larger than any may be is not, and puts nobody out', () => {
  const { kept } = outcomes();
  kept.put('small', bound, end(10), 60_000);
  kept.put('huge', bound, end(17 * MIB), 60_000);
  assert.equal(kept.get('huge', bound), null);
  assert.notEqual(kept.get('small', bound), null);
});

test('it is forgotten when its seal is, and another’s it never is', () => {
  const { kept, clock } = outcomes();
  kept.put('x', bound, end(10), 60_000);
  assert.equal(kept.get('x', { ...bound, principal: { ...bound.principal, subject: 'bob' } }), 'foreign');
  assert.equal(kept.get('x', { ...bound, principal: { ...bound.principal, client: 'other' } }), 'foreign');
  clock.time = 60_000;
  assert.equal(kept.get('x', bound), null);
});
