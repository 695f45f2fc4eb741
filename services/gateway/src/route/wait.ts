// Waiting with an end: a promise that settles late or badly is as good as its fallback. The work itself goes on; it
// belongs to whoever started it.

import type { Clock } from '@lockkeeper/state/clock';
import type { Signal } from '../leaving.ts';

export function atMost<R, F>(clock: Clock, ms: number, work: Promise<R>, otherwise: F): Promise<R | F> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(ms, () => resolve(otherwise));
    const settle = (value: R | F) => {
      timer.clear();
      resolve(value);
    };
    work.then(settle, () => settle(otherwise));
  });
}

export function unlessAborted<R, F>(signal: Signal, work: Promise<R>, otherwise: F): Promise<R | F> {
  if (signal.aborted) return Promise.resolve(otherwise);
  return new Promise((resolve) => {
    const left = () => resolve(otherwise);
    signal.addEventListener('abort', left, { once: true });
    const settle = (value: R | F) => {
      signal.removeEventListener('abort', left);
      resolve(value);
    };
    work.then(settle, () => settle(otherwise));
  });
}
