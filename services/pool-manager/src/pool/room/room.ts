// Room for one more process when a cap stands against it: who is put out for it, and in which order the hungry are fed when
// there is room again: tenants take turns, then the pools of one tenant (design §5 "fair queueing").

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { Turns } from '../../lease/turns.ts';
import type { Pool } from '../pool.ts';
import type { PooledChild } from '../pooled-child.ts';
import type { Registry } from '../registry.ts';
import type { Caps, FullCap } from './caps.ts';
import { whoMakesRoom } from './evict.ts';

export interface RoomDeps {
  readonly registry: Registry;
  readonly caps: Caps;
  evict(pool: Pool, child: PooledChild): void;
}

export class Room {
  private readonly deps: RoomDeps;
  private readonly hungry = new Turns<Pool>();
  private stillMissing = false;
  private feeding = false;

  constructor(deps: RoomDeps) {
    this.deps = deps;
  }

  /** A start was wanted and `cap` stood against it. */
  missing(pool: Pool, cap: FullCap): void {
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
      const scope = scopeName(pool.spec, cap);
      if (cap === null || tried.has(scope)) continue;
      tried.add(scope);
      if (this.makeRoom(pool, cap)) return;
    }
  }

  forget(pool: Pool): void {
    this.hungry.delete(pool.spec.tenant, pool);
  }

  /**
   * There is room for this pool; but whoever stands in line and could use it too is before it. False: it has had its turn
   * among them, whatever came of it.
   */
  admits(pool: Pool): boolean {
    if (this.feeding || this.hungry.size === 0) return true;
    const isOther = (other: Pool) => other !== pool && this.deps.caps.full(other.spec) === null;
    if (!this.hungry.all().some(isOther)) return true;
    if (pool.waiters.size > 0) this.hungry.add(pool.spec.tenant, pool);
    this.feed();
    return false;
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
      const had = pool.children.size;
      pool.serve();
      if (this.stillMissing && pool.children.size === had) {
        stuck.add(scopeName(pool.spec, cap));
        continue;
      }
      this.hungry.served(tenant, pool);
      if (this.stillMissing) this.hungry.add(tenant, pool);
    }
    this.feeding = false;
  }

  /** False: nobody can go for it, or enough are on their way. */
  private makeRoom(pool: Pool, cap: FullCap): boolean {
    const scope = scopeOf(pool.spec, cap);
    // A session's end leaves room for no process, and the other way round.
    const within = (other: ServerSpec) => scope(other) && isRemote(other) === isRemote(pool.spec);
    const children = this.children();
    const leaving = children.filter(({ child, spec }) => child.state === 'draining' && within(spec)).length;
    // Whoever is on his way out already makes room for somebody.
    if (leaving >= this.hungry.all().filter(({ spec }) => within(spec)).length) return false;
    const idle = children.filter(
      (one) => one.pool !== pool && one.child.state === 'idle' && isRemote(one.spec) === isRemote(pool.spec),
    );
    const victim = whoMakesRoom(idle, pool.spec, cap, (tenant) => this.deps.caps.ofTenant(tenant));
    if (victim === undefined) return false;
    this.deps.evict(victim.pool, victim.child);
    return true;
  }

  private children(): { pool: Pool; child: PooledChild; spec: ServerSpec; idleSince: number }[] {
    return [...this.deps.registry.every].flatMap((pool) =>
      [...pool.children].map((child) => ({ pool, child, spec: pool.spec, idleSince: child.idleSince })),
    );
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
