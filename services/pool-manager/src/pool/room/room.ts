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
    this.hungry.add(pool.spec.tenant, pool);
    const scope = scopeOf(pool.spec, cap);
    // A session's end leaves room for no process, and the other way round.
    const within = (other: ServerSpec) => scope(other) && isRemote(other) === isRemote(pool.spec);
    const others = this.children().filter(({ spec }) => within(spec));
    const leaving = others.filter(({ child }) => child.state === 'draining').length;
    const asking = this.hungry.all().filter(({ spec }) => within(spec)).length;
    // Whoever is on his way out already makes room for somebody.
    if (leaving >= asking) return;
    const idle = this.children().filter(
      (one) => one.pool !== pool && one.child.state === 'idle' && isRemote(one.spec) === isRemote(pool.spec),
    );
    const victim = whoMakesRoom(idle, pool.spec, cap, (tenant) => this.deps.caps.ofTenant(tenant));
    if (victim !== undefined) this.deps.evict(victim.pool, victim.child);
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
    for (const [tenant, pool] of this.hungry.inTurn()) {
      this.stillMissing = false;
      const had = pool.children.size;
      pool.serve();
      if (this.stillMissing && pool.children.size === had) continue;
      this.hungry.served(tenant, pool);
      if (this.stillMissing) this.hungry.add(tenant, pool);
    }
    this.feeding = false;
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
