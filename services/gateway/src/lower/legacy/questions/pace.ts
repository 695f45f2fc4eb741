// How soon a round is asked for again, and when it is enough: a join that brings nothing new must not spin, a URL that
// the user has opened is polled, a round without questions is tried again with back-off and an end (protocol.md §5.3
// "requestState-only round"). Rounds that ask something have no cap (design ruling 10), only the call's own deadline.

import type { Clock } from '@lockkeeper/state/clock';

export interface Pace {
  /** What the round brought; null: enough. */
  next(brought: 'news' | 'quiet' | 'doubt' | 'poll' | 'empty'): number | null;
  /** Whether this answer was taken so long ago that the same question must be meant anew. */
  answerIsOld(wireId: string): boolean;
}

const EMPTY_ROUNDS = 64;
const EMPTY_MS = 600_000;
/** An answer that was taken has reached the node by then. */
const OLD_MS = 1500;
const DOUBT_MS = 500;

export function createPace(clock: Clock): Pace {
  let quiet = 0;
  let polls = 0;
  let empty = 0;
  let emptySince = 0;
  const missed = new Map<string, number>();
  const growing = (first: number, times: number, most: number) => Math.min(first * 2 ** Math.min(times, 16), most);

  return {
    next(brought) {
      if (brought !== 'empty') empty = 0;
      if (brought !== 'quiet') quiet = 0;
      switch (brought) {
        case 'news':
          return 0;
        case 'quiet':
          return growing(50, quiet++, 2_000);
        case 'doubt':
          return DOUBT_MS;
        case 'poll':
          return growing(1_000, polls++, 10_000);
        case 'empty': {
          if (empty === 0) emptySince = clock.now();
          if (++empty > EMPTY_ROUNDS || clock.now() - emptySince > EMPTY_MS) return null;
          return growing(250, empty - 1, 10_000);
        }
      }
    },
    answerIsOld(wireId) {
      const first = missed.get(wireId) ?? clock.now();
      missed.set(wireId, first);
      return clock.now() - first >= OLD_MS;
    },
  };
}
