// How fast a server may talk (auth-security I-13, T-60): so many lines of its stdout, or events on its streams, and bytes a
// second, averaged over ten, so that bursts are free. Each costs this process time that is everybody's.

import type { Clock } from '@lockkeeper/state/clock';

export interface Rates {
  readonly linesPerSecond: number;
  readonly bytesPerSecond: number;
}

const SECONDS = 10;

export class OutputRate {
  private readonly rates: Rates;
  private readonly unit: 'lines' | 'events';
  private readonly clock: Clock;
  private lines: number;
  private bytes: number;
  private at: number;

  constructor(rates: Rates, unit: 'lines' | 'events', clock: Clock) {
    this.rates = rates;
    this.unit = unit;
    this.clock = clock;
    this.lines = rates.linesPerSecond * SECONDS;
    this.bytes = rates.bytesPerSecond * SECONDS;
    this.at = clock.now();
  }

  /** Why that was too much, or null. */
  spend(lines: number, bytes: number): string | null {
    const { linesPerSecond, bytesPerSecond } = this.rates;
    const now = this.clock.now();
    const passed = Math.max(0, now - this.at) / 1000;
    this.at = now;
    this.lines = Math.min(this.lines + passed * linesPerSecond, linesPerSecond * SECONDS) - lines;
    this.bytes = Math.min(this.bytes + passed * bytesPerSecond, bytesPerSecond * SECONDS) - bytes;
    if (this.lines < 0) return `flooded its output: more than ${linesPerSecond} ${this.unit} a second`;
    return this.bytes < 0 ? `flooded its output: more than ${bytesPerSecond} bytes a second` : null;
  }
}
