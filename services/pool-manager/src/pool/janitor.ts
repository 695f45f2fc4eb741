// The timed sweep: one timer for the whole node, armed again only after its work is done.

import type { Clock, Timer } from '@lockkeeper/state/clock';

export interface Janitor {
  close(): void;
}

export function createJanitor(clock: Clock, everyMs: number, sweep: () => void): Janitor {
  let closed = false;
  let timer: Timer = clock.setTimer(everyMs, run);
  function run(): void {
    sweep();
    if (!closed) timer = clock.setTimer(everyMs, run);
  }
  return {
    close() {
      closed = true;
      timer.clear();
    },
  };
}
