// A subscription keeps a process (design §5 "Obligations"): a lease that runs nothing, taken anew now and then so that
// a process past its age can be followed by a fresh one, and more and more slowly when the server does not start.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Lease, LeaseRequest, Pools } from '../pool/contract.ts';

export interface HoldDeps {
  readonly pools: Pick<Pools, 'lease'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** What kind of process to ask for; may change from time to time. */
  readonly request: (signal: AbortSignal) => Promise<LeaseRequest>;
  readonly failed: (error: unknown) => void;
}

/** The lease room's own addition: the baton is given up, the process stays. */
type Parkable = Lease & { park?(): void };

const RENEW_MS = 5 * 60_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

export class Hold {
  private readonly deps: HoldDeps;
  private lease: Lease | null = null;
  private flight: Promise<void> | null = null;
  private leaving = new AbortController();
  private timer: Timer | null = null;
  private failures = 0;
  private wanted = false;

  constructor(deps: HoldDeps) {
    this.deps = deps;
  }

  /** Resolves when a process is held, or could not be had for now. Never rejects. */
  keep(): Promise<void> {
    this.wanted = true;
    if (this.lease !== null) return Promise.resolve();
    if (this.timer !== null) return Promise.resolve();
    this.flight ??= this.take();
    return this.flight;
  }

  letGo(): void {
    this.wanted = false;
    this.timer?.clear();
    this.timer = null;
    this.leaving.abort(new Error('nobody is subscribed any more'));
    this.leaving = new AbortController();
    this.lease?.release();
    this.lease = null;
  }

  private async take(): Promise<void> {
    const { signal } = this.leaving;
    try {
      const lease: Parkable = await this.deps.pools.lease(await this.deps.request(signal));
      lease.park?.();
      if (signal.aborted || !this.wanted) return lease.release();
      const before = this.lease;
      this.lease = lease;
      before?.release();
      this.failures = 0;
      this.watch(lease);
    } catch (error) {
      if (signal.aborted) return;
      this.deps.failed(error);
      this.failures++;
    } finally {
      this.flight = null;
      if (this.wanted && !signal.aborted) this.later();
    }
  }

  /** The process should end. What is subscribed to is asked of the next one, and told, as after a crash. */
  private parted(lease: Lease): void {
    if (this.lease !== lease) return;
    this.lease = null;
    lease.release();
    this.timer?.clear();
    this.timer = null;
    this.flight ??= this.take();
  }

  private watch(lease: Lease): void {
    lease.keep?.(() => this.parted(lease));
    lease.connection.closed.then(
      () => {
        if (this.lease !== lease) return;
        lease.release();
        this.lease = null;
        this.failures = 1;
        if (this.wanted) this.later();
      },
      () => {},
    );
  }

  private later(): void {
    this.timer?.clear();
    const pause = this.failures === 0 ? RENEW_MS : FIRST_PAUSE_MS * 2 ** Math.min(this.failures - 1, 10);
    const ms = Math.min(this.failures === 0 ? RENEW_MS : MAX_PAUSE_MS, pause) * (0.5 + this.deps.random() / 2);
    this.timer = this.deps.clock.setTimer(ms, () => {
      this.timer = null;
      this.flight ??= this.take();
    });
  }
}
