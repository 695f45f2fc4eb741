// Whether the holder of a lease is gone, so that another may take its keys before the lease ends (decision 0010). Not
// what a list of a second ago says: its entry must have been missing, without a break, for longer than it may take a
// node that lives to write it again. An entry under another name is that of another life.

import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import type { Holder } from './lease.ts';
import { GONE_MS, NODE_TTL_MS, type NodeRecord, nodeKey, parseRecord } from './record.ts';

export interface AbsenceDeps {
  readonly store: Pick<Store, 'get'>;
  readonly clock: Clock;
  readonly nodes: { live(): readonly NodeRecord[] };
}

export interface Absence {
  /** Asked again and again by whoever wants the key; the first look never says so. */
  isGone(holder: Holder): Promise<boolean>;
}

interface Looked {
  readonly firstAt: number;
  readonly lastAt: number;
}

const MAX_MISSING = 512;

export function createAbsence({ store, clock, nodes }: AbsenceDeps): Absence {
  const missing = new Map<string, Looked>();

  function missed(life: string, from: number, to: number): boolean {
    const before = missing.get(life);
    missing.delete(life);
    // An entry written between two looks would still have been there at the second.
    const unbroken = before !== undefined && to - before.lastAt < NODE_TTL_MS;
    const firstAt = unbroken ? before.firstAt : to;
    missing.set(life, { firstAt, lastAt: from });
    if (missing.size > MAX_MISSING) forgetOldest();
    return from - firstAt >= GONE_MS;
  }

  function forgetOldest(): void {
    for (const oldest of missing.keys()) return void missing.delete(oldest);
  }

  return {
    async isGone(holder) {
      const life = JSON.stringify([holder.node, holder.incarnation]);
      const from = clock.now();
      const listed = nodes.live().find(({ id }) => id === holder.node);
      // Between two names, leases and entry differ for a moment: no reason to believe the list.
      if (!isOf(holder, listed) && !isOf(holder, parseRecord(await store.get(nodeKey(holder.node))))) {
        return missed(life, from, clock.now());
      }
      missing.delete(life);
      return false;
    },
  };
}

function isOf({ incarnation }: Holder, record: NodeRecord | null | undefined): boolean {
  return record?.incarnation === incarnation;
}
