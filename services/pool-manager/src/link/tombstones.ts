// Exchanges cancelled before they were seen: a cancel may come by another gateway, or overtake a bulk `open`
// (design §4). Kept for a short time and bounded; bound to whom the cancel came from.

import type { Cancel, Open, Principal } from '@lockkeeper/protocol/link/frames';

interface Tombstone {
  readonly cancel: Cancel;
  readonly until: number;
}

const TTL_MS = 10_000;
const MAX = 10_000;

export interface Tombstones {
  add(cancel: Cancel): void;
  /** True when this exchange was cancelled by the same person and session. */
  covers(open: Open): boolean;
}

function samePrincipal(a: Principal, b: Principal): boolean {
  return a.tenant === b.tenant && a.issuer === b.issuer && a.subject === b.subject && a.client === b.client;
}

export function createTombstones(now: () => number): Tombstones {
  const stones = new Map<string, Tombstone>();

  /** Oldest first: insertion order is time order. */
  function sweep(): void {
    const time = now();
    for (const [xid, stone] of stones) {
      if (stone.until > time && stones.size < MAX) return;
      stones.delete(xid);
    }
  }

  return {
    add: (cancel) => {
      sweep();
      stones.delete(cancel.xid);
      stones.set(cancel.xid, { cancel, until: now() + TTL_MS });
    },
    covers: (open) => {
      if (stones.size === 0) return false;
      const stone = stones.get(open.xid);
      if (stone === undefined || stone.until <= now()) return false;
      return samePrincipal(stone.cancel.principal, open.principal) && stone.cancel.session === open.session;
    },
  };
}
