// Answers on their way to their server, and the turn of the call that asked (design §5 "Baton"): given up while people are
// waited for, had again before a server that waits for it is answered.

import type { Timer } from '@lockkeeper/state/clock';
import type { Settled } from '../asked.ts';
import type { Parking, ParkingDeps, ParkingHost } from '../parking.ts';
import type { OpenQuestion } from '../question-set.ts';

export class Delivery {
  private readonly of: Pick<Parking, 'set' | 'awaiting'>;
  private readonly host: Pick<ParkingHost, 'yields' | 'regains'>;
  private readonly deps: Pick<ParkingDeps, 'clock' | 'windowMs'>;
  private readonly pending: { readonly question: OpenQuestion; readonly answer: Settled }[] = [];
  private passing: Timer | null = null;
  private regaining = false;
  private over = false;

  constructor(
    of: Pick<Parking, 'set' | 'awaiting'>,
    host: Pick<ParkingHost, 'yields' | 'regains'>,
    deps: Pick<ParkingDeps, 'clock' | 'windowMs'>,
  ) {
    this.of = of;
    this.host = host;
    this.deps = deps;
  }

  add(question: OpenQuestion, answer: Settled): void {
    this.pending.push({ question, answer });
  }

  /** The server wants no answer any more; false: none of these was its. */
  drop(id: string): boolean {
    const at = this.pending.findIndex(({ question }) => question.id === id);
    if (at === -1) return false;
    this.pending.splice(at, 1);
    return true;
  }

  deliver(): void {
    const collected = this.pending.filter(({ question }) => !question.asked.live);
    if (collected.length > 0) {
      this.pending.splice(0, this.pending.length, ...this.pending.filter(({ question }) => question.asked.live));
      for (const { question, answer } of collected) question.asked.settle(answer);
    }
    if (this.pending.length > 0) this.goOn();
  }

  /** Not at once where no window gathered what belongs together: the next question may be on its way. */
  passBaton(at: 'now' | 'soon'): void {
    this.stopPassing();
    // Answers are on their way: its turn is used for those first.
    if (this.regaining) return;
    if (at === 'now') {
      this.host.yields();
      return;
    }
    this.passing = this.deps.clock.setTimer(this.deps.windowMs, () => {
      this.passing = null;
      if (this.of.set.size > 0 && !this.regaining && !this.over) this.host.yields();
    });
  }

  goOn(): void {
    if (this.regaining) return;
    this.stopPassing();
    const regained = this.host.regains();
    if (regained === null) {
      this.write();
      return;
    }
    this.regaining = true;
    regained.then(
      () => {
        this.regaining = false;
        this.write();
      },
      () => {
        // It never will: whoever ends the exchange answers what is left.
        this.regaining = false;
      },
    );
  }

  /** Whose answers were still on their way. */
  end(): OpenQuestion[] {
    this.over = true;
    this.stopPassing();
    return this.pending.splice(0).map(({ question }) => question);
  }

  private write(): void {
    if (this.over) return;
    const answers = this.pending.splice(0);
    for (const { question, answer } of answers) question.asked.settle(answer);
    // Part of the questions is still open: what the server does with this part is this call's.
    if (this.of.awaiting) this.passBaton('soon');
  }

  private stopPassing(): void {
    this.passing?.clear();
    this.passing = null;
  }
}
