// One child as its pool sees it: starting → idle ⇄ busy → draining → dead (style glossary). It knows who holds it; what to
// do with it is the pool's.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { Holders, type PoolLease } from '../lease/lease.ts';
import type { Connection } from '../raise/contract.ts';
import type { End } from './life/ends.ts';
import type { Gauge } from './meter/meter.ts';
import { SPREAD_LEASES } from './size.ts';

export type ChildState = 'starting' | 'idle' | 'busy' | 'draining' | 'dead';

/** A burst is spread over further processes as soon as it is held back. */
const PERSON_LEASES = SPREAD_LEASES;

export class PooledChild {
  /** Its name for the operator; no other of this node has had it. */
  readonly id: string;
  readonly spec: ServerSpec;
  readonly capabilities: ClientCapabilities;
  readonly baton: boolean;
  readonly holders = new Holders();
  readonly startedAt: number;
  state: ChildState = 'starting';
  connection: Connection | null = null;
  idleSince: number;
  /** Leases ever given. */
  grants = 0;
  /** Owner key of the last lease: tells whose exclusive process this is. */
  owner = '';
  /** Somebody whom it asked may be back until then (design §5 "Obligations"). */
  awaitedUntil = 0;
  /** Takes no new work; why. */
  retiring: End | null = null;
  /** Calls under way by person, where many persons share it. */
  private readonly byPerson = new Map<string, number>();
  /** What it uses of the machine, as last read. */
  gauge: Gauge | null = null;

  constructor(id: string, spec: ServerSpec, capabilities: ClientCapabilities, baton: boolean, now: number) {
    this.id = id;
    this.spec = spec;
    this.capabilities = capabilities;
    this.baton = baton;
    this.startedAt = now;
    this.idleSince = now;
  }

  get live(): boolean {
    return this.state === 'idle' || this.state === 'busy';
  }

  /** Remote servers have none. */
  get pid(): number | null {
    return this.connection?.pid ?? null;
  }

  get tainted(): boolean {
    return this.connection?.tainted === true;
  }

  /** A new call may run on it now. */
  get takes(): boolean {
    if (!this.live || this.retiring !== null || this.connection?.gone === true) return false;
    return !this.baton || (this.holders.running === 0 && !this.holders.awaited);
  }

  /** So many calls at once of one person among others: the rest of a burst waits outside, where people take turns. */
  takesOf(person: string): boolean {
    return this.takes && (this.byPerson.get(person) ?? 0) < PERSON_LEASES;
  }

  /** `person`: where many share it. */
  grant(owner: string, freed: (tainted: boolean) => void, person?: string): PoolLease {
    this.grants++;
    this.owner = owner;
    this.state = 'busy';
    if (person === undefined) return this.holders.lease(this.connection!, this.baton, freed);
    this.count(person, 1);
    return this.holders.lease(this.connection!, this.baton, (tainted) => {
      this.count(person, -1);
      freed(tainted);
    });
  }

  private count(person: string, by: 1 | -1): void {
    const calls = (this.byPerson.get(person) ?? 0) + by;
    if (calls > 0) this.byPerson.set(person, calls);
    else this.byPerson.delete(person);
  }
}
