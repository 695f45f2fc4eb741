// The store contract, part three: logs, and following them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { isStateError } from '../../src/errors.ts';
import type { LogEntry } from '../../src/store.ts';
import { type Bench, TTL } from './bench.ts';

export function logs({ store, key }: Bench): void {
  test('a log gives its entries in order, from where one asks', async () => {
    const k = key();
    const positions: string[] = [];
    for (const value of ['a', 'b', 'c', 'd']) positions.push(await store().append(k, value, 100, TTL));
    assert.equal(new Set(positions).size, 4);
    const values = (entries: readonly LogEntry[]) => entries.map((e) => e.value).join('');
    assert.deepEqual(
      (await store().read(k, '', 10)).map((e) => e.position),
      positions,
    );
    assert.equal(values(await store().read(k, positions[1]!, 10)), 'cd');
    assert.equal(values(await store().read(k, positions[3]!, 10)), '');
    assert.equal(values(await store().read(k, '', 2)), 'ab');
    assert.equal(values(await store().read(k, '', 0)), '');
    assert.deepEqual(await store().read(key(), '', 10), []);
  });

  test('a log keeps its last entries and ends with its TTL', async () => {
    const k = key();
    for (let i = 0; i < 30; i++) await store().append(k, String(i), 10, TTL);
    assert.deepEqual(
      (await store().read(k, '', 100)).map((e) => e.value),
      Array.from({ length: 10 }, (_, i) => String(20 + i)),
    );
    await store().touch(k, 20);
    await eventually(async () => (await store().read(k, '', 1)).length === 0);
  });

  test('a position that no log gave out is refused', async () => {
    for (const bad of ['abc', '1', '-', '5-', '1-2-3', '+', '99999999999999999999999-0']) {
      await assert.rejects(store().read(key(), bad, 1), (e) => isStateError(e, 'ERR_STATE_POSITION'), bad);
      assert.throws(
        () =>
          store().follow(
            key(),
            bad,
            () => undefined,
            () => undefined,
          ),
        (e) => isStateError(e, 'ERR_STATE_POSITION'),
      );
    }
  });

  test('a follower gets what was there and what comes, once and in order', async () => {
    const k = key();
    await store().append(k, '0', 2000, TTL);
    const got: string[] = [];
    const following = store().follow(k, '', (entry) => got.push(entry.value), assert.fail);
    const wanted = ['0'];
    for (let i = 1; i <= 600; i++) wanted.push(String(i));
    await Promise.all(wanted.slice(1).map((value) => store().append(k, value, 2000, TTL)));
    await eventually(() => got.length >= wanted.length);
    assert.deepEqual(got, wanted);
    following.close();
  });

  test('a follower starts after its position, on a log that is not there yet too', async () => {
    const k = key();
    const early: string[] = [];
    const first = store().follow(k, '', (entry) => early.push(entry.value), assert.fail);
    const position = await store().append(k, 'a', 100, TTL);
    await store().append(k, 'b', 100, TTL);
    const late: string[] = [];
    const second = store().follow(k, position, (entry) => late.push(entry.value), assert.fail);
    await store().append(k, 'c', 100, TTL);
    await eventually(() => early.length === 3 && late.length === 2);
    assert.deepEqual(
      [early, late],
      [
        ['a', 'b', 'c'],
        ['b', 'c'],
      ],
    );
    first.close();
    second.close();
  });

  test('a closed follower hears nothing more', async () => {
    const k = key();
    const got: string[] = [];
    const witness: string[] = [];
    const following = store().follow(k, '', (entry) => got.push(entry.value), assert.fail);
    const other = store().follow(k, '', (entry) => witness.push(entry.value), assert.fail);
    await store().append(k, 'a', 100, TTL);
    await eventually(() => got.length === 1);
    following.close();
    following.close();
    await store().append(k, 'b', 100, TTL);
    await eventually(() => witness.length === 2);
    assert.deepEqual(got, ['a']);
    other.close();
  });

  test('a follower that closes itself while it is told stops there', async () => {
    const k = key();
    for (const value of ['a', 'b', 'c']) await store().append(k, value, 100, TTL);
    const got: string[] = [];
    const witness: string[] = [];
    const following = store().follow(
      k,
      '',
      (entry) => {
        got.push(entry.value);
        if (entry.value === 'b') following.close();
      },
      assert.fail,
    );
    const other = store().follow(k, '', (entry) => witness.push(entry.value), assert.fail);
    await eventually(() => witness.length === 3);
    assert.deepEqual(got, ['a', 'b']);
    other.close();
  });

  test('an error of deliver ends that following, and is told once', async () => {
    const k = key();
    const errors: Error[] = [];
    store().follow(
      k,
      '',
      () => {
        throw new Error('mine');
      },
      (error) => errors.push(error),
    );
    const witness: string[] = [];
    const other = store().follow(k, '', (entry) => witness.push(entry.value), assert.fail);
    await store().append(k, 'a', 100, TTL);
    await store().append(k, 'b', 100, TTL);
    await eventually(() => witness.length === 2 && errors.length > 0);
    assert.deepEqual(
      errors.map((e) => e.message),
      ['mine'],
    );
    other.close();
  });
}
