// How long an aggregate waits for one of its servers before it answers without it (protocol.md §5.7 "Partial outage",
// GB-026): limits.aggregateWaitMs, and nothing to do with how long the start may take. A server that has let one list
// wait is not waited for again while the same start is pending: the rest is served at once.

import type { Clock } from '@lockkeeper/state/clock';
import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../exchange.ts';
import { atMost } from '../wait.ts';

export interface Patience {
  /** `owner`: whose process it would be. The load goes on and serves the next caller. */
  wait<R, F>(exchange: Exchange, owner: string, loading: Promise<R>, otherwise: F): Promise<R | F>;
}

/** What is ready is given, whoever was late before. */
const GLANCE_MS = 100;
const REMEMBERED_MS = 30_000;
const MAX_REMEMBERED = 10_000;

export function createPatience(clock: Clock): Patience {
  /** Until when each counts as late. */
  const late = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  return {
    async wait({ snapshot }, owner, loading, otherwise) {
      const waits = (late.get(owner) ?? 0) <= clock.now();
      const ms = waits ? Math.max(GLANCE_MS, snapshot.limits.aggregateWaitMs) : GLANCE_MS;
      let settled = false;
      const watched = loading.finally(() => {
        settled = true;
        late.delete(owner);
      });
      const outcome = await atMost(clock, ms, watched, otherwise);
      if (!settled) late.set(owner, clock.now() + REMEMBERED_MS);
      return outcome;
    },
  };
}
