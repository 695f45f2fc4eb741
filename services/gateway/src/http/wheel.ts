// One timer for all open streams (design §11): each is beaten once per period, so ten thousand streams cost one
// interval. A beat sends the keep-alive comment and notices a client that has stopped reading.

export interface Beating {
  /** False: the stream has ended, forget it. */
  beat(): boolean;
}

export interface Wheel {
  add(stream: Beating, periodMs: number): void;
  /** Ends the timer; streams are not told. */
  close(): void;
}

const TICK_MS = 500;
const SLOTS = 240;

export function createWheel(every: (ms: number, run: () => void) => { clear(): void }): Wheel {
  const slots: { stream: Beating; span: number }[][] = Array.from({ length: SLOTS }, () => []);
  let at = 0;
  let count = 0;
  let timer: { clear(): void } | null = null;
  let closed = false;

  function put(stream: Beating, span: number): void {
    slots[(at + span) % SLOTS]!.push({ stream, span });
    count++;
  }

  function stop(): void {
    timer?.clear();
    timer = null;
  }

  function tick(): void {
    at = (at + 1) % SLOTS;
    const due = slots[at]!;
    slots[at] = [];
    count -= due.length;
    for (const { stream, span } of due) if (stream.beat()) put(stream, span);
    if (count === 0) stop();
  }

  return {
    add(stream, periodMs) {
      if (closed) return;
      put(stream, Math.min(SLOTS - 1, Math.max(1, Math.round(periodMs / TICK_MS))));
      timer ??= every(TICK_MS, tick);
    },
    close() {
      closed = true;
      stop();
    },
  };
}
