// The turn of one call on a process where one runs at a time (design §5 "Baton"): given up while it waits for people,
// waited for again when it was answered. A server that does one thing at a time never ends what runs now, if that waits
// behind this one: after a while both run (protocol.md §5.0 "Relaxed mode"; all of one person and program).

import type { Clock } from '@lockkeeper/state/clock';
import type { Lease } from '../pool/contract.ts';
import type { UpstreamCall } from '../raise/contract.ts';

export interface TurnHost {
  lease(): Lease | null;
  upstream(): UpstreamCall | null;
  /** Time stands still, or counts again. */
  pause(): void;
  goOn(): void;
}

export class Turn {
  private readonly host: TurnHost;
  private readonly clock: Clock;
  private readonly batonMs: number;
  private parked = false;
  /** A turn that is waited for, also while it runs without. */
  private awaited: AbortController | null = null;

  constructor(host: TurnHost, clock: Clock, batonMs: number) {
    this.host = host;
    this.clock = clock;
    this.batonMs = batonMs;
  }

  giveUp(): void {
    this.host.pause();
    this.stopWaiting('it waits for its caller again');
    this.parked = true;
    this.host.upstream()?.park?.();
    this.host.lease()?.park?.();
  }

  /** Null: it has it. Rejects when the exchange is over, or waits again. */
  regain(): Promise<void> | null {
    const resume = this.host.lease()?.resume;
    if (!this.parked || resume === undefined) {
      this.take();
      return null;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const awaited = new AbortController();
    this.awaited = awaited;
    const patience = this.clock.setTimer(this.batonMs, resolve);
    awaited.signal.addEventListener('abort', () => reject(awaited.signal.reason as Error), { once: true });
    resume(awaited.signal)
      .then(resolve, reject)
      .finally(() => {
        if (this.awaited === awaited) this.awaited = null;
      });
    return promise.then(() => this.take()).finally(() => patience.clear());
  }

  end(): void {
    this.stopWaiting('the exchange has ended');
  }

  private stopWaiting(why: string): void {
    this.awaited?.abort(new Error(why));
    this.awaited = null;
  }

  private take(): void {
    this.parked = false;
    this.host.upstream()?.resume?.();
    this.host.goOn();
  }
}
