// Calls that wait until their child has taken those before them (design §5 "Back-pressure"): people take turns, one's own
// calls go in order, for limits.queueMs at most, and all children of a node together within one bound of bytes. Nothing of
// a call that waits has gone upstream.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { personOf } from '../../lease/person.ts';
import { Turns } from '../../lease/turns.ts';

/** Bytes that wait, over all children of one node. */
export interface Waiting {
  bytes: number;
}

export interface LineUpDeps {
  readonly clock: Clock;
  readonly maxWaitMs: () => number;
  readonly waiting: Waiting;
}

export interface Turn {
  readonly bytes: number;
  /** Whose it is; absent: the node's own. */
  readonly principal?: Principal;
  /** Its time has come, or nothing will ever be taken any more. */
  go(): void;
  refuse(words: string): void;
}

const MAX_TURNS = 8192;
const MAX_BYTES = 256 * 1024 * 1024;

export class LineUp {
  private readonly deps: LineUpDeps;
  private readonly takes: (bytes: number) => boolean;
  private readonly order = new Turns<Turn>();
  /** Until when each of them waits, by the time of their coming. */
  private readonly turns = new Map<Turn, number>();
  private timer: Timer | null = null;

  constructor(deps: LineUpDeps, takes: (bytes: number) => boolean) {
    this.deps = deps;
    this.takes = takes;
  }

  get size(): number {
    return this.turns.size;
  }

  /** Goes at once, or stands in line until `leave`, or is refused. */
  enter(turn: Turn): void {
    const { clock, waiting, maxWaitMs } = this.deps;
    if (this.turns.size === 0 && this.takes(turn.bytes)) turn.go();
    else if (this.turns.size >= MAX_TURNS || waiting.bytes + turn.bytes > MAX_BYTES) {
      turn.refuse('too many calls wait for the server to read its input');
    } else {
      this.turns.set(turn, clock.now() + maxWaitMs());
      this.order.add(groupOf(turn), turn);
      waiting.bytes += turn.bytes;
      this.timer ??= clock.setTimer(maxWaitMs(), () => this.overdue());
    }
  }

  /** False: it did not stand here. */
  leave(turn: Turn): boolean {
    if (!this.turns.delete(turn)) return false;
    this.order.delete(groupOf(turn), turn);
    this.deps.waiting.bytes -= turn.bytes;
    if (this.turns.size === 0) this.stop();
    return true;
  }

  /** The child takes more than before. */
  serve(): void {
    for (let turn = this.order.peek(); turn !== undefined; turn = this.order.peek()) {
      if (!this.takes(turn.bytes)) return;
      this.order.take();
      this.leave(turn);
      turn.go();
    }
  }

  /** The child takes nothing any more; its calls find that out by themselves. */
  end(): void {
    for (const turn of [...this.turns.keys()]) if (this.leave(turn)) turn.go();
  }

  private overdue(): void {
    this.timer = null;
    const now = this.deps.clock.now();
    for (const [turn, until] of this.turns) {
      if (until > now) {
        this.timer = this.deps.clock.setTimer(until - now, () => this.overdue());
        return;
      }
      this.leave(turn);
      turn.refuse('the server did not read its input in time');
    }
  }

  private stop(): void {
    this.timer?.clear();
    this.timer = null;
  }
}

function groupOf({ principal }: Turn): string {
  return principal === undefined ? '' : personOf(principal);
}
