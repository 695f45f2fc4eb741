import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createWheel, type WheelEntry } from '../../src/link/wheel.ts';

function rig() {
  let now = 1_000_000;
  let next: { at: number; run: () => void } | null = null;
  let armed = 0;
  const clock = {
    now: () => now,
    setTimer: (ms: number, run: () => void) => {
      armed += 1;
      next = { at: now + ms, run };
      return {
        clear: () => {
          next = null;
        },
      };
    },
  };
  const pass = (ms: number) => {
    const end = now + ms;
    while (next !== null && next.at <= end) {
      const { at, run } = next;
      now = at;
      next = null;
      run();
    }
    now = end;
  };
  const wheel = createWheel(clock, 250);
  const expired: string[] = [];
  const entry = (name: string): WheelEntry => ({ slot: 0, place: 0, expire: () => expired.push(name) });
  return {
    wheel,
    pass,
    expired,
    entry,
    jump: (ms: number) => (now += ms),
    timers: () => armed,
    idle: () => next === null,
  };
}

describe('which deadline comes', () => {
  test('each comes after its time and within a tick or two, in order', () => {
    const { wheel, pass, expired, entry } = rig();
    wheel.add(entry('b'), 1_000);
    wheel.add(entry('a'), 300);
    pass(299);
    assert.deepEqual(expired, []);
    pass(501);
    assert.deepEqual(expired, ['a']);
    pass(700);
    assert.deepEqual(expired, ['a', 'b']);
  });

  test('one that was removed does not', () => {
    const { wheel, pass, expired, entry } = rig();
    const a = entry('a');
    wheel.add(a, 300);
    wheel.remove(a);
    wheel.remove(a);
    pass(5_000);
    assert.deepEqual(expired, []);
  });

  test('one that was moved comes once, at its new time', () => {
    const { wheel, pass, expired, entry } = rig();
    const a = entry('a');
    wheel.add(a, 300);
    wheel.add(a, 3_000);
    pass(2_900);
    assert.deepEqual(expired, []);
    pass(700);
    assert.deepEqual(expired, ['a']);
  });

  test('a thousand of them need one timer at a time, and none when they are gone', () => {
    const { wheel, pass, expired, entry, timers, idle } = rig();
    for (let i = 0; i < 1000; i++) wheel.add(entry(`${i}`), 1_000);
    assert.equal(timers(), 1);
    pass(2_000);
    assert.equal(expired.length, 1000);
    assert.equal(idle(), true);
  });

  test('after a long standstill all that are due come at once', () => {
    const { wheel, pass, expired, entry, jump } = rig();
    wheel.add(entry('a'), 300);
    wheel.add(entry('b'), 60_000);
    jump(100_000);
    pass(250);
    assert.deepEqual(expired, ['a', 'b']);
  });
});
