// Exchanges by id, so that a cancel from any gateway finds its own and nobody else's (design §4 `cancel`, GB-087). A
// cancel that overtakes its open leaves a tombstone for a while. Bounded in both.

import type { Cancel, Principal } from '@lockkeeper/protocol/link/frames';

export interface Bound {
  readonly principal: Principal;
  readonly session: string | null;
}

export interface Cancellable extends Bound {
  cancel(reason: string): void;
}

interface Tombstone extends Bound {
  readonly until: number;
  readonly reason: string;
}

const MAX_TOMBSTONES = 1000;
const TOMBSTONE_MS = 30_000;

export class ExchangeTable<E extends Cancellable> {
  private readonly exchanges = new Map<string, E>();
  private readonly tombstones = new Map<string, Tombstone>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.exchanges.size;
  }

  all(): E[] {
    return [...this.exchanges.values()];
  }

  get(xid: string): E | undefined {
    return this.exchanges.get(xid);
  }

  /** `cancelled`: its cancel was here first. */
  add(xid: string, exchange: E, now: number): 'added' | 'full' | 'taken' | 'cancelled' {
    const stone = this.tombstones.get(xid);
    if (stone !== undefined && now < stone.until && sameCaller(stone, exchange)) {
      this.tombstones.delete(xid);
      return 'cancelled';
    }
    if (this.exchanges.has(xid)) return 'taken';
    if (this.exchanges.size >= this.max) return 'full';
    this.exchanges.set(xid, exchange);
    return 'added';
  }

  remove(xid: string, exchange: object): void {
    if (this.exchanges.get(xid) === exchange) this.exchanges.delete(xid);
  }

  /** `foreign`: someone else's; nothing was done. */
  cancel(head: Cancel, now: number): 'cancelled' | 'foreign' | 'unseen' {
    const exchange = this.exchanges.get(head.xid);
    const reason = head.reason ?? 'cancelled by the client';
    if (exchange === undefined) {
      this.bury(head, reason, now);
      return 'unseen';
    }
    if (!sameCaller(exchange, head)) return 'foreign';
    exchange.cancel(reason);
    return 'cancelled';
  }

  private bury(head: Cancel, reason: string, now: number): void {
    for (const [xid, stone] of this.tombstones) {
      if (stone.until > now && this.tombstones.size < MAX_TOMBSTONES) break;
      this.tombstones.delete(xid);
    }
    const { principal, session } = head;
    this.tombstones.set(head.xid, { principal, session, reason, until: now + TOMBSTONE_MS });
  }
}

/** The person and the program, and the legacy session where there is one (protocol.md §5.0 I5). */
export function sameCaller(a: Bound, b: Bound): boolean {
  return (
    a.principal.tenant === b.principal.tenant &&
    a.principal.issuer === b.principal.issuer &&
    a.principal.subject === b.principal.subject &&
    a.principal.client === b.principal.client &&
    a.session === b.session
  );
}
