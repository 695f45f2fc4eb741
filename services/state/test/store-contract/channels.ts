// The store contract, part four: channels, which are hints.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import type { Bench } from './bench.ts';

export function channels({ store, key }: Bench): void {
  test('a message reaches every subscriber of its channel, until it leaves', async () => {
    const [channel, otherChannel] = [key(), key()];
    const got: string[] = [];
    const listener = (message: string) => got.push(message);
    const leaveFirst = await store().subscribe(channel, listener);
    const leaveSecond = await store().subscribe(channel, listener);
    await store().publish(otherChannel, 'elsewhere');
    await store().publish(channel, 'one');
    await eventually(() => got.length === 2);
    await leaveFirst();
    await leaveFirst();
    await store().publish(channel, 'two');
    await eventually(() => got.length === 3);
    await leaveSecond();
    const leaveThird = await store().subscribe(otherChannel, listener);
    await store().publish(channel, 'three');
    await store().publish(otherChannel, 'four');
    await eventually(() => got.includes('four'));
    assert.deepEqual(got, ['one', 'one', 'two', 'four']);
    await leaveThird();
  });

  test('a subscriber that throws does not keep the others from hearing', async () => {
    const channel = key();
    const got: string[] = [];
    const leaveFirst = await store().subscribe(channel, () => {
      throw new Error('mine');
    });
    const leaveSecond = await store().subscribe(channel, (message) => got.push(message));
    await store().publish(channel, 'a');
    await eventually(() => got.length === 1);
    await leaveFirst();
    await leaveSecond();
  });
}
