// An errand that waits: for a time, or until something about the nodes changes. Made only when one does.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Peers } from './peers.ts';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

export function pauseAfter(attempts: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(5, attempts));
}

export class Wait {
  readonly #timer: Timer;
  readonly #stop: (() => void) | null;

  /** `peers`: whose changes end it, too. */
  constructor(ms: number, go: () => void, clock: Clock, peers: Pick<Peers, 'onceChanged'> | null) {
    this.#stop = peers === null ? null : peers.onceChanged(go);
    this.#timer = clock.setTimer(ms, go);
  }

  end(): void {
    this.#timer.clear();
    this.#stop?.();
  }
}
