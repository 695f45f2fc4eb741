// How long people are waited for: one time for all open questions of an exchange, and meanwhile signs of life for servers
// that give their own questions less (design §4 amendment 4).

import type { Timer } from '@lockkeeper/state/clock';
import type { ParkingDeps, ParkingHost } from '../parking.ts';
import type { QuestionSet } from '../question-set.ts';

export class Patience {
  private readonly host: Pick<ParkingHost, 'awaits' | 'expired'>;
  private readonly deps: Pick<ParkingDeps, 'clock' | 'humanMs' | 'pacingMs'>;
  private readonly set: QuestionSet;
  private human: Timer | null = null;
  private pacing: Timer | null = null;
  private paced = 0;
  private over = false;

  constructor(
    host: Pick<ParkingHost, 'awaits' | 'expired'>,
    deps: Pick<ParkingDeps, 'clock' | 'humanMs' | 'pacingMs'>,
    set: QuestionSet,
  ) {
    this.host = host;
    this.deps = deps;
    this.set = set;
  }

  /** From the first open question on. */
  begin(): void {
    if (this.human !== null || this.over) return;
    const ms = this.deps.humanMs();
    this.host.awaits(ms);
    this.human = this.deps.clock.setTimer(ms, () => {
      this.human = null;
      this.host.expired();
    });
  }

  /** SDK servers give their own questions a minute, which progress prolongs. */
  pace(): void {
    if (this.pacing !== null || this.over) return;
    if (!this.set.all().some(({ asked }) => asked.progress !== null)) return;
    this.pacing = this.deps.clock.setTimer(this.deps.pacingMs, () => {
      this.pacing = null;
      this.paced++;
      for (const { asked } of this.set.all()) asked.progress?.(this.paced);
      this.pace();
    });
  }

  /** Nothing is open any more. */
  stop(): void {
    this.human?.clear();
    this.human = null;
    this.pacing?.clear();
    this.pacing = null;
  }

  end(): void {
    this.over = true;
    this.stop();
  }
}
