// What an operator has done to processes. `drain`: it takes nothing new and ends when it is free; `restart`: the same, and
// another is started in its place; `evict`: it ends now, and its calls with it.

import type { Order, Whom } from '@lockkeeper/state/operator/contract';
import { endOf } from './life/ends.ts';
import type { Lives } from './life/lives.ts';
import type { Pool } from './pool.ts';
import type { PooledChild } from './pooled-child.ts';
import type { Registry } from './registry.ts';

export interface OperatorDeps {
  readonly registry: Registry;
  readonly lives: Pick<Lives, 'dismiss'>;
  /** Whether one more may be started in this pool now. */
  mayStart(pool: Pool): boolean;
  start(pool: Pool): void;
}

export class Operator {
  private readonly deps: OperatorDeps;
  /** Those who are to have a successor. */
  private readonly owed = new WeakSet<PooledChild>();

  constructor(deps: OperatorDeps) {
    this.deps = deps;
  }

  order(order: Order, whom: Whom): string[] {
    const meant = [...this.deps.registry.every].flatMap((pool) =>
      [...pool.children].filter((child) => isMeant(child, whom)).map((child) => ({ pool, child })),
    );
    return meant.filter(({ pool, child }) => this.carryOut(order, pool, child)).map(({ child }) => child.id);
  }

  /** It is gone: its successor, if it is to have one and nobody else has seen to that. */
  left(pool: Pool, child: PooledChild): void {
    if (this.owed.delete(child) && !pool.retired && pool.barren && this.deps.mayStart(pool)) this.deps.start(pool);
  }

  private carryOut(order: Order, pool: Pool, child: PooledChild): boolean {
    if (child.state !== 'starting' && !child.live) return false;
    if (order === 'evict') {
      this.deps.lives.dismiss(pool, child, endOf('operator'));
      return true;
    }
    // What only begins has nothing old about it.
    if (!child.live) return false;
    if (order === 'restart') this.owed.add(child);
    pool.retireChild(child, endOf('operator'));
    return true;
  }
}

function isMeant({ id, spec }: PooledChild, whom: Whom): boolean {
  return 'id' in whom ? id === whom.id : spec.tenant === whom.tenant && spec.name === whom.server;
}
