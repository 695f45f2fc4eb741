// Room for one more process when a cap stands against it: who is put out for it, and in which order the hungry are fed when
// there is room again: tenants take turns, then the pools of one tenant (design §5 "fair queueing").

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { Turns } from '../../lease/turns.ts';
import type { Pool } from '../pool.ts';
import type { PooledChild } from '../pooled-child.ts';
import type { Registry } from '../registry.ts';
import type { Caps, FullCap } from './caps.ts';
import { type Candidate, whoMakesRoom } from './evict.ts';
import type { Seat } from './seat.ts';

export interface RoomDeps {
  readonly registry: Registry;
  readonly caps: Caps;
  readonly clock: Clock;
  /** Of processes that are in no pool. */
  readonly seats: Iterable<Seat>;
  evict(pool: Pool, child: PooledChild): void;
}

/** Who may stand in line: a pool, or who looks for the era of a server. */
export interface Hungry {
  readonly spec: ServerSpec;
  /** Places that it has. */
  readonly got: number;
  /** Somebody waits for it. */
  readonly wants: boolean;
  /** It wants one to find out what a server is. */
  readonly finds: boolean;
  /** Takes what there is; says what it is `missing`. */
  serve(): void;
}

interface Idle extends Candidate {
  /** Somebody may be about to come for it. */
  readonly keepsFresh: boolean;
  evict(): void;
}

/**
 * Whoever caused a spare, or asked what a server is before he calls it, comes back within this time: without it the
 * process would have gone for the next find each time, and every server would be started again for its call.
 */
const FRESH_MS = 500;

export class Room {
  private readonly deps: RoomDeps;
  private readonly hungry = new Turns<Hungry>();
  private stillMissing = false;
  private feeding = false;
  /** When one that was too fresh to go is not any more. */
  private later: Timer | null = null;

  constructor(deps: RoomDeps) {
    this.deps = deps;
  }

  /** A start was wanted and `cap` stood against it. */
  missing(pool: Hungry, cap: FullCap): void {
    this.stillMissing = true;
    // Who stands in line already is remembered when there is something for him.
    if (!this.feeding && this.hungry.has(pool.spec.tenant, pool)) return;
    this.hungry.add(pool.spec.tenant, pool);
    this.makeRoom(pool, cap);
  }

  /** A child has fallen idle: it goes for the first in line whom that helps, and not only when the janitor comes. */
  offered(): void {
    if (this.feeding || this.hungry.size === 0) return;
    const tried = new Set<string>();
    for (const [, pool] of this.hungry.inTurn()) {
      const cap = this.deps.caps.full(pool.spec);
      const scope = `${pool.finds} ${scopeName(pool.spec, cap)}`;
      if (cap === null || tried.has(scope)) continue;
      tried.add(scope);
      if (this.makeRoom(pool, cap)) return;
    }
  }

  close(): void {
    this.later?.clear();
    this.later = null;
  }

  forget(pool: Hungry): void {
    this.hungry.delete(pool.spec.tenant, pool);
  }

  /**
   * There is room for this pool; but whoever stands in line and could use it too is before it. False: it has had its turn
   * among them, whatever came of it.
   */
  admits(pool: Hungry): boolean {
    if (this.feeding || this.hungry.size === 0) return true;
    if (this.lets(pool)) return true;
    if (pool.wants) this.hungry.add(pool.spec.tenant, pool);
    this.feed();
    return false;
  }

  /** Nobody else who stands in line could use what room there is. */
  lets(one?: Hungry): boolean {
    return !this.hungry.all().some((other) => other !== one && this.deps.caps.full(other.spec) === null);
  }

  /**
   * Each hungry pool gets one try at the room there is. Who got nothing keeps his place in the line; who got some and
   * wants more goes behind the others.
   */
  feed(): void {
    if (this.feeding) return;
    this.feeding = true;
    const stuck = new Set<string>();
    for (const [tenant, pool] of this.hungry.inTurn()) {
      // The same cap stands against all of one scope: thousands in line are not asked one by one.
      const cap = this.deps.caps.full(pool.spec);
      if (cap !== null && stuck.has(scopeName(pool.spec, cap))) continue;
      this.stillMissing = false;
      const had = pool.got;
      pool.serve();
      if (this.stillMissing && pool.got === had) {
        stuck.add(scopeName(pool.spec, cap));
        continue;
      }
      this.hungry.served(tenant, pool);
      if (this.stillMissing) this.hungry.add(tenant, pool);
    }
    this.feeding = false;
  }

  /** False: nobody can go for it, or enough are on their way. */
  private makeRoom(pool: Hungry, cap: FullCap): boolean {
    const scope = scopeOf(pool.spec, cap);
    // A session's end leaves room for no process, and the other way round.
    const within = (other: ServerSpec) => scope(other) && isRemote(other) === isRemote(pool.spec);
    // Whoever is on his way out already makes room for somebody.
    if (this.leaving(within) >= this.hungry.all().filter(({ spec }) => within(spec)).length) return false;
    const now = this.deps.clock.now();
    const idle = [...this.idle(pool)];
    const ripe = idle.filter((one) => !one.keepsFresh || now - one.idleSince >= FRESH_MS);
    const victim = whoMakesRoom(ripe, pool.spec, cap, (tenant) => this.deps.caps.ofTenant(tenant));
    victim?.evict();
    if (victim === undefined && ripe.length < idle.length) this.lookAgain();
    return victim !== undefined;
  }

  private lookAgain(): void {
    this.later ??= this.deps.clock.setTimer(FRESH_MS, () => {
      this.later = null;
      this.offered();
    });
  }

  private leaving(within: (spec: ServerSpec) => boolean): number {
    let count = 0;
    for (const { spec, children } of this.deps.registry.every) {
      if (within(spec)) for (const child of children) if (child.state === 'draining') count++;
    }
    for (const seat of this.deps.seats) if (within(seat.spec)) count += seat.leaving;
    return count;
  }

  /** Who could go for it. */
  private *idle(one: Hungry): Generator<Idle> {
    const { spec: wanted, finds } = one;
    for (const pool of this.deps.registry.every) {
      const { spec } = pool;
      if (pool === one || isRemote(spec) !== isRemote(wanted)) continue;
      for (const child of pool.children) {
        if (child.state !== 'idle') continue;
        yield { spec, idleSince: child.idleSince, keepsFresh: finds, evict: () => this.deps.evict(pool, child) };
      }
    }
    if (isRemote(wanted)) return;
    for (const { spec, spare, over } of this.deps.seats) {
      if (spare === null || !over) continue;
      const keepsFresh = spec.tenant !== wanted.tenant || spec.name !== wanted.name;
      yield { spec, idleSince: spare.since, keepsFresh, evict: spare.end };
    }
  }
}

function isRemote({ http }: ServerSpec): boolean {
  return http !== undefined;
}

/** The same for all against whom one cap stands in one place. */
function scopeName({ tenant, name, http }: ServerSpec, cap: FullCap | null): string {
  const where = cap === 'server-full' ? [name] : [];
  // Whom a full node makes room for depends on his tenant, too.
  return JSON.stringify([cap, http !== undefined, tenant, ...where]);
}

/** Whose end would lift this cap. */
function scopeOf(spec: ServerSpec, cap: FullCap): (other: ServerSpec) => boolean {
  switch (cap) {
    case 'server-full':
      return (other) => other.tenant === spec.tenant && other.name === spec.name;
    case 'tenant-full':
      return (other) => other.tenant === spec.tenant;
    case 'node-full':
      return () => true;
  }
}
