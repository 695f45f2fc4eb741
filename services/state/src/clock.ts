// Time and randomness, injected by each app so that tests own them (style §3.4).

export interface Clock {
  now(): number;
  setTimer(ms: number, run: () => void): Timer;
}

export interface Timer {
  clear(): void;
  /** Lets the process end while this timer waits: for sweeps, never for work. */
  unref?(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (ms, run) => {
    const t = setTimeout(run, ms);
    return { clear: () => clearTimeout(t), unref: () => t.unref() };
  },
};
