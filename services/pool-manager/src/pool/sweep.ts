// What the janitor does to one pool: ends what is old, worn or unused, and starts what is to be warm.

import { endOf } from './life/ends.ts';
import type { Pool } from './pool.ts';
import type { PooledChild } from './pooled-child.ts';
import { stopsWanted } from './size.ts';

export function sweepPool(pool: Pool, sessionIdleMs: number, now: number): void {
  const { isolation, pool: settings } = pool.spec;
  // A session's state must last as long as the session may be idle.
  const idleMs = isolation === 'session' ? Math.max(settings.idleMs, sessionIdleMs) : settings.idleMs;
  const rules = { ...settings, isolation, minWarm: pool.minWarm, idleMs };
  for (const child of pool.children) {
    // Kept for one caller, who has not come back: it has had its one call.
    const over = child.state === 'idle' && child.awaitedUntil > 0 && child.awaitedUntil <= now;
    if (over && isolation === 'exclusive' && !pool.spec.keepsNothing) pool.retireChild(child, endOf('one-call'));
  }
  const children = [...pool.children]
    .filter((child) => child.live && child.retiring === null && !pool.awaits(child))
    .map(asView);
  for (const [{ child }, why] of stopsWanted(children, rules, now)) pool.retireChild(child, endOf(why));
  pool.grow();
}

function asView(child: PooledChild) {
  const { idleSince, startedAt, grants, tainted } = child;
  return { child, state: child.state as 'idle' | 'busy', idleSince, startedAt, grants, tainted };
}
