// A right to use one child, and in a child that may ask, the baton (design §5): one call *runs* at a time. A parked call
// gives the baton up and keeps its lease, so the child lives; answered, it waits for the baton again, before new calls.

import type { Lease } from '../pool/contract.ts';
import type { Connection } from '../raise/contract.ts';

export interface PoolLease extends Lease {
  /** The call waits for its caller: others may run. Idempotent; nothing where calls run side by side. */
  park(): void;
  /** Runs again. Rejects with the abort reason, or when the child has ended. */
  resume(signal: AbortSignal): Promise<void>;
}

interface Resumer {
  grant(): void;
  fail(reason: Error): void;
}

/** The holders of one child. */
export class Holders {
  /** Leases held. */
  leases = 0;
  /** Those of them that run. */
  running = 0;
  private readonly resumers = new Set<Resumer>();
  /** Of those who only keep the child. */
  private keepers: Set<() => void> | null = null;

  /** Somebody parked waits to run again. */
  get awaited(): boolean {
    return this.resumers.size > 0;
  }

  /** Gives the baton on to a parked call, if one waits. */
  passBaton(): boolean {
    if (this.running > 0) return false;
    for (const next of this.resumers) {
      next.grant();
      return true;
    }
    return false;
  }

  /** The child should end: who only keeps it lets go. */
  leave(): void {
    const keepers = this.keepers ?? [];
    this.keepers = null;
    for (const leave of keepers) leave();
  }

  /** The child is no more. */
  end(reason: Error): void {
    for (const resumer of [...this.resumers]) resumer.fail(reason);
  }

  /** `freed` is told when the baton or the lease was given back. */
  lease(connection: Connection, baton: boolean, freed: (tainted: boolean) => void): PoolLease {
    let released = false;
    let runs = true;
    let keeper: (() => void) | null = null;
    this.leases++;
    this.running++;
    return {
      connection,
      park: () => {
        if (!baton || released || !runs) return;
        runs = false;
        this.running--;
        freed(false);
      },
      resume: async (signal) => {
        if (runs || released) return;
        await this.regain(signal);
        runs = true;
      },
      keep: (leave) => {
        keeper = leave;
        this.keepers = (this.keepers ?? new Set()).add(leave);
      },
      release: (outcome) => {
        if (released) return;
        released = true;
        if (keeper !== null) this.keepers?.delete(keeper);
        this.leases--;
        if (runs) this.running--;
        freed(outcome?.tainted === true);
      },
    };
  }

  private regain(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.running === 0 && !this.awaited) {
      this.running++;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => resumer.fail(signal.reason as Error);
    const leave = () => {
      signal.removeEventListener('abort', onAbort);
      this.resumers.delete(resumer);
    };
    const resumer: Resumer = {
      grant: () => {
        leave();
        this.running++;
        resolve();
      },
      fail: (reason) => {
        leave();
        reject(reason);
      },
    };
    this.resumers.add(resumer);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise;
  }
}
