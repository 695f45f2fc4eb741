// What it means for an exchange that somebody who waited for it is gone (design §4 amendment 6): after an
// `input_required` was delivered nobody needs to be there; else the last one to leave ends it, at once or, where only the
// link broke under a later round, when nobody has come back.

import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Audience, Listener } from './parked/audience.ts';

export interface LeftExchange {
  readonly audience: Audience;
  readonly head: Pick<Open, 'onVanish'>;
  readonly awaiting: boolean;
  /** Somebody has been asked before. */
  readonly asked: boolean;
  cancel(reason: string): void;
}

export class Leaving {
  private readonly clock: Clock;
  private readonly rejoinMs: number;
  private absence: Timer | null = null;

  constructor(clock: Clock, rejoinMs: number) {
    this.clock = clock;
    this.rejoinMs = rejoinMs;
  }

  gone(from: LeftExchange, listener: Listener, how: 'close' | 'break'): void {
    const { audience } = from;
    if (audience.size > 1 || from.head.onVanish === 'keep' || from.awaiting) audience.leave(listener);
    else if (how === 'close') from.cancel('the client left');
    else if (!from.asked) from.cancel('the link broke');
    else {
      audience.leave(listener);
      this.absence ??= this.clock.setTimer(this.rejoinMs, () => {
        this.absence = null;
        if (audience.size === 0 && !from.awaiting) from.cancel('the link broke');
      });
    }
  }

  /** Somebody is back, or it is over. */
  end(): void {
    this.absence?.clear();
    this.absence = null;
  }
}
