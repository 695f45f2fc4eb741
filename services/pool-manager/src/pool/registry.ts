// Which pools there are: by key, by family (what one owner's fingerprints share), and all, retired ones included until
// their last child is gone.

import type { Pool } from './pool.ts';
import type { PooledChild } from './pooled-child.ts';

export class Registry {
  readonly every = new Set<Pool>();
  private readonly byKey = new Map<string, Pool>();
  private readonly families = new Map<string, Set<Pool>>();

  get(key: string): Pool | undefined {
    return this.byKey.get(key);
  }

  family(name: string): readonly Pool[] {
    return [...(this.families.get(name) ?? [])];
  }

  ofDigest(digest: string): readonly Pool[] {
    return [...this.every].filter((pool) => pool.spec.digest === digest);
  }

  *children(): Generator<PooledChild> {
    for (const pool of this.every) yield* pool.children;
  }

  poolOf(child: PooledChild): Pool | undefined {
    for (const pool of this.every) if (pool.children.has(child)) return pool;
    return undefined;
  }

  add(pool: Pool): void {
    const { key, family } = pool.facts;
    this.byKey.set(key, pool);
    this.every.add(pool);
    this.families.set(family, (this.families.get(family) ?? new Set()).add(pool));
  }

  /** It is found no more under its key, but still counted. */
  retire(pool: Pool): void {
    if (this.byKey.get(pool.facts.key) === pool) this.byKey.delete(pool.facts.key);
  }

  delete(pool: Pool): void {
    this.retire(pool);
    this.every.delete(pool);
    const siblings = this.families.get(pool.facts.family);
    siblings?.delete(pool);
    if (siblings?.size === 0) this.families.delete(pool.facts.family);
  }
}
