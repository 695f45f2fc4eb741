// The pools as numbers, for metrics, readiness and people: a plain object, computed when asked for.

import { serverId } from '@lockkeeper/protocol/config/settings';
import type { Counts, Mishap, Tally } from './life/tally.ts';
import type { Pool } from './pool.ts';
import type { ChildState } from './pooled-child.ts';

/** As of a server, with what has happened to it since this node started. */
export interface ServerStats extends Counts {
  readonly starting: number;
  readonly idle: number;
  readonly busy: number;
  readonly draining: number;
  readonly leases: number;
  readonly waiting: number;
  readonly oldestWaiterMs: number;
  readonly memoryBytes: number;
  /** Idle processes that take a processor for themselves. */
  readonly spinning: number;
}

export interface PoolStats extends ServerStats {
  readonly pools: number;
  readonly openCircuits: number;
  /** By `serverId(tenant, name)`: as many as are configured. */
  readonly servers: Readonly<Record<string, ServerStats>>;
}

/** What an operator is shown at once. */
export interface PoolList {
  readonly processes: readonly PoolRow[];
  readonly servers: Readonly<Record<string, ServerStats>>;
  /** The last failures, newest last. */
  readonly mishaps: readonly Mishap[];
}

/** One process, for an operator. Whose it is is not said. */
export interface PoolRow {
  readonly id: string;
  readonly tenant: string;
  readonly server: string;
  readonly isolation: string;
  readonly era: string | null;
  readonly revision: string | null;
  readonly state: ChildState;
  readonly retiring: string | null;
  readonly ageMs: number;
  readonly idleMs: number | null;
  readonly uses: number;
  readonly leases: number;
  readonly tainted: boolean;
  readonly pid: number | null;
  /** With all it has started; null: not read yet, or not ours to read. */
  readonly memoryBytes: number | null;
  readonly processes: number | null;
  /** Of one processor. */
  readonly cpuPercent: number | null;
  readonly spinning: boolean;
}

export function poolRows(pools: Iterable<Pool>, now: number): PoolRow[] {
  return [...pools].flatMap(({ spec, children }) =>
    [...children].map((child) => ({
      id: child.id,
      tenant: spec.tenant,
      server: spec.name,
      isolation: spec.isolation,
      era: child.connection?.profile.era ?? null,
      revision: child.connection?.profile.revision ?? null,
      state: child.state,
      retiring: child.retiring?.words ?? null,
      ageMs: now - child.startedAt,
      idleMs: child.state === 'idle' ? now - child.idleSince : null,
      uses: child.grants,
      leases: child.holders.leases,
      tainted: child.tainted,
      pid: child.pid,
      memoryBytes: child.gauge?.memoryBytes ?? null,
      processes: child.gauge?.processes ?? null,
      cpuPercent: child.gauge === null ? null : Math.round(child.gauge.cpuShare * 100),
      spinning: child.gauge?.spins === true,
    })),
  );
}

type Live = Omit<ServerStats, keyof Counts>;
type Sum = { -readonly [K in keyof Live]: Live[K] };

export function poolStats(pools: Iterable<Pool>, tally: Tally, openCircuits: number, now: number): PoolStats {
  const total = zero();
  // A server that has none left has still had some.
  const sums = new Map(tally.servers().map((id) => [id, zero()]));
  let count = 0;
  for (const pool of pools) {
    count++;
    const id = serverId(pool.spec.tenant, pool.spec.name);
    const own = sums.get(id) ?? zero();
    sums.set(id, own);
    for (const sum of [total, own]) add(sum, pool, now);
  }
  const servers = Object.fromEntries([...sums].map(([id, sum]) => [id, { ...sum, ...countsOf(tally.ofServer(id)) }]));
  return { ...total, ...countsOf(tally.total), pools: count, openCircuits, servers };
}

function countsOf({ starts, startFailures, crashes, evictions, crashesBy, endsBy }: Counts): Counts {
  return { starts, startFailures, crashes, evictions, crashesBy, endsBy };
}

function zero(): Sum {
  return {
    starting: 0,
    idle: 0,
    busy: 0,
    draining: 0,
    leases: 0,
    waiting: 0,
    oldestWaiterMs: 0,
    memoryBytes: 0,
    spinning: 0,
  };
}

function add(sum: Sum, pool: Pool, now: number): void {
  const states: Record<ChildState, keyof Sum | null> = {
    starting: 'starting',
    idle: 'idle',
    busy: 'busy',
    draining: 'draining',
    dead: null,
  };
  for (const child of pool.children) {
    const state = states[child.state];
    if (state !== null) sum[state]++;
    sum.leases += child.holders.leases;
    sum.memoryBytes += child.gauge?.memoryBytes ?? 0;
    if (child.gauge?.spins === true) sum.spinning++;
  }
  sum.waiting += pool.waiters.size;
  for (const waiter of pool.waiters.all()) sum.oldestWaiterMs = Math.max(sum.oldestWaiterMs, now - waiter.since);
}
