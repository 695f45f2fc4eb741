// The circuit breaker of one server, shared by all its doors on this node. A server that cannot be reached time after time
// is left alone for a while, and callers are told at once. Nothing is withdrawn on the word of a ping (GB-013): what closes
// the circuit is a real request, the next caller's or, if callers were turned away meanwhile, a cheap one of our own.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import { RemoteError } from '../contract.ts';

export interface Breaker {
  /** Throws RemoteError while the server is left alone. */
  enter(): void;
  /** A connection stands: whatever this request takes, others may try now. */
  begun(): void;
  answered(status: number): void;
  failed(error: RemoteError): void;
  close(): void;
}

export interface BreakerDeps {
  readonly clock: Clock;
  /** A cheap real request to it, which goes through its doors; it may fail. */
  readonly probe?: (() => Promise<void>) | undefined;
}

const FAILURES = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Said by what stands before a server that is not there. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

export function createBreaker({ clock, probe }: BreakerDeps): Breaker {
  let failures = 0;
  /** Times it opened since the last good answer. */
  let opened = 0;
  let until = 0;
  let words = '';
  let trying = false;
  let turnedAway = false;
  let timer: Timer | null = null;

  function failedBy(why: string): void {
    trying = false;
    // Those that were under way when it opened say nothing new.
    if (opened > 0 && clock.now() < until) return;
    failures++;
    words = why;
    if (failures < FAILURES) return;
    failures = FAILURES - 1;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** opened, MAX_PAUSE_MS);
    opened = Math.min(opened + 1, 16);
    until = clock.now() + pause;
    turnedAway = false;
    timer?.clear();
    timer = clock.setTimer(pause, tryIt);
  }

  function tryIt(): void {
    timer = null;
    // Clocks and timers round differently.
    until = Math.min(until, clock.now());
    if (turnedAway && !trying) probe?.().catch(() => {});
  }

  return {
    enter() {
      const rest = until - clock.now();
      if (opened === 0 || (rest <= 0 && !trying)) {
        trying = opened > 0;
        return;
      }
      turnedAway = true;
      const next = rest > 0 ? `the next try is in ${Math.ceil(rest / 1000)} s` : 'it is being tried again';
      throw new RemoteError('connect', `${words}; ${next}`, false);
    },
    begun() {
      trying = false;
    },
    answered(status) {
      if (AWAY.has(status)) return failedBy(`it answers with HTTP ${status}`);
      failures = 0;
      opened = 0;
      until = 0;
    },
    failed({ kind, words: why }) {
      // Given up by us or by our own limit, or an answer of its own: it may well be there.
      if (kind === 'aborted' || kind === 'redirect' || kind === 'full') trying = false;
      else failedBy(why);
    },
    close() {
      timer?.clear();
      timer = null;
    },
  };
}
