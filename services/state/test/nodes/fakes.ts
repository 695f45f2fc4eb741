// A clock that the test moves, and a memory store on it that can be made unreachable.

import type { Clock } from '../../src/clock.ts';
import { createMemoryStore } from '../../src/memory/store.ts';
import type { Store } from '../../src/store.ts';

export interface TestClock extends Clock {
  /** Lets time go by, running each timer when it is due and what it started. */
  pass(ms: number): Promise<void>;
  /** Time goes by while the event loop stands still: no timer runs. */
  stall(ms: number): void;
  readonly timers: number;
}

export const settled = async () => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

export function createTestClock(): TestClock {
  let now = 1_000_000;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    setTimer: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => timers.delete(timer) };
    },
    pass: async (ms) => {
      const end = now + ms;
      await settled();
      for (;;) {
        const due = [...timers].filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        timers.delete(due);
        now = Math.max(now, due.at);
        due.run();
        await settled();
      }
      now = end;
    },
    stall: (ms) => {
      now += ms;
    },
    get timers() {
      return timers.size;
    },
  };
}

export interface TestStore {
  readonly store: Store;
  readonly calls: string[];
  down: boolean;
}

/** `real`: the same store as somebody else sees. */
export function createTestStore(clock: Clock, real: Store = memoryStore(clock)): TestStore {
  const calls: string[] = [];
  const self: { down: boolean; store: Store; calls: string[] } = { down: false, calls, store: real };
  self.store = new Proxy(real, {
    get: (target, name, receiver) => {
      const value = Reflect.get(target, name, receiver) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls.push(String(name));
        if (self.down) return Promise.reject(new Error('store is down'));
        return (value as (...a: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return self;
}

export function memoryStore(clock: Clock): Store {
  return createMemoryStore({ clock, warn: () => undefined });
}
