// What is remembered only to be fast is let go when nobody has used it for a while, so that a person who is away
// costs the gateway nothing (habit 14: every cache has someone who ends it). Each cache knows what is unused; here is
// only the round that asks them.

import type { Clock } from '@lockkeeper/state/clock';

export interface Forgetting {
  /** `forget` lets go of what was not used since it was last asked. */
  add(forget: () => void): void;
  start(): void;
  close(): void;
}

/** What goes unused for a whole round is gone at its end: after one to two minutes. */
export const FORGET_EVERY_MS = 60_000;

export function createForgetting(clock: Clock): Forgetting {
  const caches: (() => void)[] = [];
  let stop: () => void = () => undefined;
  function start(): void {
    const timer = clock.setTimer(FORGET_EVERY_MS, () => {
      for (const forget of caches) forget();
      start();
    });
    timer.unref?.();
    stop = () => timer.clear();
  }
  return { add: (forget) => void caches.push(forget), start, close: () => stop() };
}
