// The store contract, part two: sets with a cap.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type Bench, TTL } from './bench.ts';

export function sets({ store, key }: Bench): void {
  test('a set takes members up to its cap', async () => {
    const k = key();
    assert.equal(await store().addToSet(k, 'a', 2, TTL), 'added');
    assert.equal(await store().addToSet(k, 'a', 2, TTL), 'present');
    assert.equal(await store().addToSet(k, 'b', 2, TTL), 'added');
    assert.equal(await store().addToSet(k, 'c', 2, TTL), 'full');
    assert.equal(await store().addToSet(k, 'b', 2, TTL), 'present');
    assert.deepEqual((await store().membersOf(k)).sort(), ['a', 'b']);
    assert.equal(await store().removeFromSet(k, 'a'), true);
    assert.equal(await store().removeFromSet(k, 'a'), false);
    assert.equal(await store().addToSet(k, 'c', 2, TTL), 'added');
    assert.deepEqual(await store().membersOf(key()), []);
    assert.equal(await store().removeFromSet(key(), 'a'), false);
  });

  test('a set never grows beyond its cap, however many add at once', async () => {
    const k = key();
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => store().addToSet(k, `m${i}`, 5, TTL)));
    assert.equal(results.filter((r) => r === 'added').length, 5);
    assert.equal((await store().membersOf(k)).length, 5);
  });

  test('a set without members is no key, and a set ends with its TTL', async () => {
    const k = key();
    await store().addToSet(k, 'a', 9, TTL);
    await store().removeFromSet(k, 'a');
    assert.equal(await store().touch(k, TTL), false);
    await store().addToSet(k, 'a', 9, 30);
    await eventually(async () => (await store().membersOf(k)).length === 0);
  });
}
