// How many children a pool should have: counts and limits in, "start so many, stop these" out. Pure; the pool and the
// janitor carry it out, the caps above it may allow less.

import type { Isolation } from '@lockkeeper/protocol/link/keys';

/** Labels of ends.ts. */
type Why = 'age' | 'uses' | 'tainted' | 'idle';

/** `many`: calls side by side. `baton`: one call runs at a time. `once`: one call, then it dies (design §5 table). */
export type Mode = 'many' | 'baton' | 'once';

/** A further child is started beside one that has so many calls under way. */
export const SPREAD_LEASES = 32;
/** Starts of one key at once, when the server is known to start at all; else one (GB-024, GB-027). */
const STARTS_AT_ONCE = 4;
/** A tainted child that nobody uses may still answer what was cancelled, and so be cleared. */
const TAINT_GRACE_MS = 2_000;

export interface PoolCounts {
  readonly mode: Mode;
  readonly max: number;
  readonly minWarm: number;
  readonly starting: number;
  readonly idle: number;
  readonly busy: number;
  readonly draining: number;
  /** Calls that no child could take. */
  readonly waiting: number;
  /** Leases of the child that has fewest; `many` only. */
  readonly leastLeases: number;
  readonly proven: boolean;
}

export function startsWanted(c: PoolCounts): number {
  // One that drains still takes memory; the cap is a promise about processes, not about usefulness.
  const room = c.max - c.starting - c.idle - c.busy - c.draining;
  const atOnce = (c.proven ? STARTS_AT_ONCE : 1) - c.starting;
  return Math.max(0, Math.min(room, atOnce, Math.max(forWaiters(c), forWarmth(c))));
}

function forWaiters(c: PoolCounts): number {
  if (c.mode !== 'many') return c.waiting - c.starting;
  if (c.starting > 0) return 0;
  if (c.idle + c.busy === 0) return c.waiting > 0 ? 1 : 0;
  return c.leastLeases >= SPREAD_LEASES ? 1 : 0;
}

/** A spare is one that nobody uses, except where all use the same. */
function forWarmth(c: PoolCounts): number {
  return c.minWarm - c.starting - c.idle - (c.mode === 'many' ? c.busy : 0);
}

export interface ChildView {
  readonly state: 'idle' | 'busy';
  /** Unix ms; meaningless while busy. */
  readonly idleSince: number;
  readonly startedAt: number;
  readonly grants: number;
  readonly tainted: boolean;
}

export interface KeepRules {
  readonly isolation: Isolation;
  readonly minWarm: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly maxUses: number;
}

/** Children that take no new work from now on, with the reason; idle ones end at once, busy ones when they are free. */
export function stopsWanted<T extends ChildView>(children: readonly T[], rules: KeepRules, now: number): [T, Why][] {
  const out: [T, Why][] = [];
  // Oldest idle first, so that those used last stay warm.
  const ordered = [...children].sort((a, b) => a.idleSince - b.idleSince);
  let kept = ordered.length;
  for (const child of ordered) {
    const why = worn(child, rules, now) ?? (kept > rules.minWarm ? unused(child, rules, now) : null);
    if (why === null) continue;
    out.push([child, why]);
    kept--;
  }
  return out;
}

/** The state of a session lives in its process, so neither age nor use ends it (design §5 table). */
function worn(child: ChildView, rules: KeepRules, now: number): Why | null {
  if (rules.isolation === 'session') return null;
  if (now - child.startedAt >= rules.maxAgeMs) return 'age';
  if (child.grants >= rules.maxUses) return 'uses';
  const quiet = child.state === 'idle' && now - child.idleSince >= TAINT_GRACE_MS;
  return quiet && child.tainted ? 'tainted' : null;
}

function unused(child: ChildView, rules: KeepRules, now: number): Why | null {
  return child.state === 'idle' && now - child.idleSince >= rules.idleMs ? 'idle' : null;
}
