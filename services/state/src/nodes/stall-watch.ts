// Notices that the event loop stood still for longer than it may (design §4: half a lease). Whoever is about to act on
// something read from a socket asks `check` first: after a stall what was read may be long void.

import type { Clock } from '../clock.ts';

export interface StallWatch {
  /** True when a stall is noticed by this very call; its listeners have then run. */
  check(): boolean;
  /** Listeners are called synchronously, before anything else is done after the stall. */
  onStall(listener: (stoodStillMs: number) => void): () => void;
  close(): void;
}

const TICK_MS = 500;

export function createStallWatch(clock: Clock, limitMs: number): StallWatch {
  const listeners = new Set<(ms: number) => void>();
  let seenAt = clock.now();
  let timer = clock.setTimer(TICK_MS, tick);

  function check(): boolean {
    const now = clock.now();
    const still = now - seenAt;
    if (still <= limitMs) return false;
    seenAt = now;
    for (const listener of [...listeners]) listener(still);
    return true;
  }

  function tick(): void {
    check();
    seenAt = clock.now();
    timer = clock.setTimer(TICK_MS, tick);
  }

  return {
    check,
    onStall: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => {
      timer.clear();
      listeners.clear();
    },
  };
}
