// The one timer of an exchange: for its start, then for its call. Progress gives a call its time anew, up to a maximum
// (protocol.md §4.7). The time stands still while people think, or while the call waits for its turn (design §4).

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { ExchangeDeps } from './dispatch-contract.ts';

export interface TimeTerms {
  /** What the caller gives it, ms. */
  readonly deadlineMs: number;
  readonly startMs: number;
  readonly callMs: number;
  /** Progress keeps a call alive, but not for ever (26/cancel "maximum timeout"). */
  readonly maxCallMs: number;
}

export function termsOf(
  { probeMs, queueMs, maxCallMs }: Pick<ExchangeDeps, 'probeMs' | 'queueMs' | 'maxCallMs'>,
  { startTimeoutMs, callTimeoutMs }: ServerSpec,
  { deadlineMs }: Open,
): TimeTerms {
  return { deadlineMs, startMs: startTimeoutMs + probeMs + queueMs(), callMs: callTimeoutMs, maxCallMs };
}

export class ExchangeTime {
  private readonly clock: Clock;
  private readonly terms: () => TimeTerms;
  private readonly over: (during: 'start' | 'call') => void;
  private readonly openedAt: number;
  private timer: Timer | null = null;
  private firesAt = 0;
  private calledAt = 0;
  private progressedAt: number | null = null;
  private prolongedTo = 0;
  private pausedAt: number | null = null;
  private stoodStill = 0;

  constructor(clock: Clock, terms: () => TimeTerms, over: (during: 'start' | 'call') => void) {
    this.clock = clock;
    this.terms = terms;
    this.over = over;
    this.openedAt = clock.now();
  }

  /** Since it was opened, whatever stood still. */
  get spentMs(): number {
    return this.clock.now() - this.openedAt;
  }

  /** Until its start has failed. */
  get leftToStartMs(): number {
    return this.firesAt - this.now();
  }

  /** Of the caller's deadline. */
  get leftMs(): number {
    return this.openedAt + this.terms().deadlineMs - this.now();
  }

  starts(): void {
    this.calledAt = 0;
    this.arm(Math.min(this.leftMs, this.terms().startMs));
  }

  called(): void {
    this.calledAt = this.now();
    this.progressedAt = null;
    if (this.prolongedTo === 0 && this.calledAt + this.restMs() < this.firesAt) this.arm(this.restMs());
  }

  progressed(): void {
    this.progressedAt = this.now();
  }

  prolong(ms: number): void {
    this.prolongedTo = this.now() + ms;
    if (this.pausedAt === null) this.arm(ms);
  }

  pause(): void {
    this.pausedAt ??= this.clock.now();
    this.stop();
  }

  /** Counts again. */
  goOn(): void {
    if (this.pausedAt === null) return;
    this.stoodStill += this.clock.now() - this.pausedAt;
    this.pausedAt = null;
    this.arm(this.restMs());
  }

  stop(): void {
    this.timer?.clear();
    this.timer = null;
  }

  private now(): number {
    return (this.pausedAt ?? this.clock.now()) - this.stoodStill;
  }

  private arm(ms: number): void {
    this.timer?.clear();
    const wait = Math.max(0, ms);
    this.firesAt = this.now() + wait;
    this.timer = this.clock.setTimer(wait, () => this.fired());
  }

  private fired(): void {
    if (this.calledAt === 0) {
      this.over('start');
      return;
    }
    const rest = this.restMs();
    if (rest > 0) this.arm(rest);
    else this.over('call');
  }

  private restMs(): number {
    const now = this.now();
    if (this.prolongedTo > 0) return this.prolongedTo - now;
    const { deadlineMs, callMs, maxCallMs } = this.terms();
    const opened = this.progressedAt ?? this.openedAt;
    const called = this.progressedAt ?? this.calledAt;
    return Math.min(opened + deadlineMs, called + callMs, this.calledAt + maxCallMs) - now;
  }
}
