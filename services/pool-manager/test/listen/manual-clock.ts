// A clock that moves when told.
import type { Clock } from '@lockkeeper/state/clock';

export function manualClock(): Clock & { advance(ms: number): Promise<void>; readonly waits: () => number[] } {
  let now = 1_000_000;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    setTimer(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
    waits: () => [...timers].map(({ at }) => at - now).sort((a, b) => a - b),
    async advance(ms) {
      now += ms;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
      for (let i = 0; i < 20; i++) await Promise.resolve();
    },
  };
}
