// Does the memory store stay within its bounds, and give memory back when keys end?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../src/clock.ts';
import { isStateError } from '../../src/errors.ts';
import { createMemoryStore } from '../../src/memory/store.ts';

/** A clock that moves when told; timers fire in order. */
function handClock(): Clock & { advance(ms: number): void; readonly timers: number } {
  let now = 1_000_000;
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    setTimer(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return {
        clear: () => {
          timers = timers.filter((t) => t !== timer);
        },
      };
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const next = timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers = timers.filter((t) => t !== next);
        now = next.at;
        next.run();
      }
      now = end;
    },
    get timers() {
      return timers.length;
    },
  };
}

const full = (error: unknown) => isStateError(error, 'ERR_STATE_FULL');
const warn = () => undefined;

test('a key beyond the bound is refused, a live one is never forgotten for it', async () => {
  const clock = handClock();
  const store = createMemoryStore({ clock, warn, maxKeys: 3 });
  for (const k of ['a', 'b', 'c']) await store.set(k, k, 1000);
  await assert.rejects(store.set('d', 'd', 1000), full);
  await store.set('a', 'again', 1000);
  assert.deepEqual(await store.getMany(['a', 'b', 'c', 'd']), ['again', 'b', 'c', null]);
  clock.advance(1000);
  await store.set('d', 'd', 1000);
  await store.close();
});

test('bytes beyond the bound are refused in every kind, and come back', async () => {
  const clock = handClock();
  const store = createMemoryStore({ clock, warn, maxBytes: 10_000 });
  const big = 'x'.repeat(3000);
  await assert.rejects(store.set('t', 'x'.repeat(6000), 1000), full);
  await store.append('log', big, 10, 1000);
  await assert.rejects(store.append('log', big, 10, 1000), full);
  assert.equal((await store.read('log', '', 10)).length, 1);
  await assert.rejects(store.addToSet('set', big, 10, 1000), full);
  await store.delete('log');
  assert.equal(await store.addToSet('set', big, 10, 1000), 'added');
  await store.removeFromSet('set', big);
  await store.set('t', big, 1000);
  await store.close();
});

test('a log that is trimmed does not count what it dropped', async () => {
  const store = createMemoryStore({ clock: handClock(), warn, maxBytes: 10_000 });
  for (let i = 0; i < 500; i++) await store.append('log', 'x'.repeat(500), 5, 1000);
  await store.close();
});

test('one timer sweeps while there are keys and none when there are not', async () => {
  const clock = handClock();
  const store = createMemoryStore({ clock, warn });
  assert.equal(clock.timers, 0);
  for (let i = 0; i < 100; i++) await store.set(`k${i}`, 'v', 5000);
  assert.equal(clock.timers, 1);
  clock.advance(20_000);
  assert.equal(clock.timers, 0);
  await store.set('again', 'v', 5000);
  assert.equal(clock.timers, 1);
  await store.close();
  assert.equal(clock.timers, 0);
});
