// How exchanges ended, for a reply that was lost and a retry that comes twice (protocol.md §5.5 "dup"): kept as long as
// a seal may live, in this node's memory, bounded in number and bytes; the oldest go first.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import { type Bound, sameCaller } from '../dispatch-table.ts';
import type { Ended } from './contract.ts';

export interface Outcomes {
  put(xid: string, bound: Bound, ended: Ended, ttlMs: number): void;
  /** `foreign`: it is another's. */
  get(xid: string, bound: Bound): Ended | 'foreign' | null;
}

interface Kept extends Bound {
  readonly principal: Principal;
  readonly session: string | null;
  readonly ended: Ended;
  readonly until: number;
  readonly bytes: number;
}

export function createOutcomes(clock: Clock, maxBytes: number, maxEach: number, maxCount: number): Outcomes {
  const kept = new Map<string, Kept>();
  let bytes = 0;

  function drop(xid: string, one: Kept): void {
    kept.delete(xid);
    bytes -= one.bytes;
  }

  /** Oldest first: they were put in the order of their end. */
  function trim(): void {
    const now = clock.now();
    for (const [xid, one] of kept) {
      if (one.until > now && bytes <= maxBytes && kept.size <= maxCount) return;
      drop(xid, one);
    }
  }

  return {
    put(xid, { principal, session }, ended, ttlMs) {
      const said = (ended.said ?? []).reduce((sum, { members }) => sum + members.length, 0);
      const size = said + (ended.kind === 'result' ? ended.members.length : 0);
      if (size > maxEach) return;
      const before = kept.get(xid);
      if (before !== undefined) drop(xid, before);
      // A copy: the line it points into may be large.
      const own = ended.kind === 'result' ? { ...ended, members: copyOf(ended.members) } : ended;
      kept.set(xid, { principal, session, ended: own, until: clock.now() + ttlMs, bytes: size + 512 });
      bytes += size + 512;
      trim();
    },
    get(xid, bound) {
      const one = kept.get(xid);
      if (one === undefined || one.until <= clock.now()) return null;
      return sameCaller(one, bound) ? one.ended : 'foreign';
    },
  };
}
