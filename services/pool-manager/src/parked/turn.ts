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
  private given: AbortController | null = null;

  constructor(host: TurnHost, clock: Clock, batonMs: number) {
    this.host = host;
    this.clock = clock;
    this.batonMs = batonMs;
  }

  giveUp(): void {
    this.host.pause();
    // One that is still awaited is given up with it.
    this.given?.abort(new Error('it waits for its caller again'));
    this.given = new AbortController();
    this.host.upstream()?.park?.();
    this.host.lease()?.park?.();
  }

  /** Null: it has it. Rejects when the exchange is over, or waits again. */
  regain(): Promise<void> | null {
    const { given } = this;
    const resume = this.host.lease()?.resume;
    if (given === null || resume === undefined) {
      this.take();
      return null;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const patience = this.clock.setTimer(this.batonMs, resolve);
    given.signal.addEventListener('abort', () => reject(given.signal.reason as Error), { once: true });
    resume(given.signal).then(resolve, reject);
    return promise.then(() => this.take()).finally(() => patience.clear());
  }

  end(): void {
    this.given?.abort(new Error('the exchange has ended'));
  }

  private take(): void {
    this.given = null;
    this.host.upstream()?.resume?.();
    this.host.goOn();
  }
}
