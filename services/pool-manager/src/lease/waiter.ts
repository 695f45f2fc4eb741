// A request for a lease that is not granted yet. Settled exactly once: granted, refused, out of time, or given up by its
// caller; then nothing of it is left anywhere.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { LeaseRequest } from '../pool/contract.ts';
import type { PoolLease } from './lease.ts';

export interface WaiterHooks {
  /** Its time in the queue is over. Gives the milliseconds that it may wait on, or the reason to refuse it; null: done. */
  expired(waiter: Waiter): number | Error | null;
  /** Settled, in whichever way: take it out of the queue. */
  left(waiter: Waiter): void;
}

export class Waiter {
  readonly request: LeaseRequest;
  readonly since: number;
  readonly promise: Promise<PoolLease>;
  private readonly clock: Clock;
  private readonly hooks: WaiterHooks;
  private readonly outcome = Promise.withResolvers<PoolLease>();
  private readonly onAbort = () => this.refuse(this.request.signal.reason as Error);
  private timer: Timer;
  private settled = false;

  constructor(request: LeaseRequest, clock: Clock, hooks: WaiterHooks) {
    this.request = request;
    this.clock = clock;
    this.hooks = hooks;
    this.since = clock.now();
    this.promise = this.outcome.promise;
    this.timer = clock.setTimer(request.waitMs, () => this.expire());
    request.signal.addEventListener('abort', this.onAbort, { once: true });
  }

  grant(lease: PoolLease): void {
    if (this.end()) this.outcome.resolve(lease);
    else lease.release();
  }

  refuse(reason: Error): void {
    if (this.end()) this.outcome.reject(reason);
  }

  private expire(): void {
    const more = this.hooks.expired(this);
    if (typeof more === 'number') this.timer = this.clock.setTimer(more, () => this.expire());
    else if (more !== null) this.refuse(more);
  }

  private end(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.timer.clear();
    this.request.signal.removeEventListener('abort', this.onAbort);
    this.hooks.left(this);
    return true;
  }
}
