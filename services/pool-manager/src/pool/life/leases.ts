// When all that was lent is back: what a drain waits for.

import type { Clock } from '@lockkeeper/state/clock';
import type { Registry } from '../registry.ts';

export class Leases {
  private readonly registry: Registry;
  private readonly clock: Clock;
  private quiet: (() => void) | null = null;

  constructor(registry: Registry, clock: Clock) {
    this.registry = registry;
    this.clock = clock;
  }

  givenBack(): void {
    if (this.quiet !== null && this.count() === 0) this.quiet();
  }

  /** Or at the deadline. */
  async allBack(deadlineMs: number): Promise<void> {
    if (this.count() === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.quiet = resolve;
    const timer = this.clock.setTimer(deadlineMs, resolve);
    await promise;
    timer.clear();
    this.quiet = null;
  }

  private count(): number {
    let sum = 0;
    for (const pool of this.registry.every) for (const child of pool.children) sum += child.holders.leases;
    return sum;
  }
}
