// A clock that moves when the test says so, timers with it.

import type { Clock } from '@lockkeeper/state/clock';

export interface ManualClock extends Clock {
  /** Runs what falls due on the way, in order, and lets promises settle in between. */
  advance(ms: number): Promise<void>;
}

export function manualClock(start = 1_000_000): ManualClock {
  let now = start;
  const timers = new Set<{ at: number; run: () => void }>();
  const settle = () => new Promise<void>((done) => setImmediate(done));
  return {
    now: () => now,
    setTimer(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        const due = [...timers].filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        now = due.at;
        timers.delete(due);
        due.run();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}
