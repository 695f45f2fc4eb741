// Who finds out what a server is needs a process before there is one in any pool. Such a process takes a place like any
// other and stands in the same line for it (room.ts); where a start is what needs to know, it has that start's place.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { Loan, Place, Places } from '../../raise/place.ts';
import { idOf } from '../../raise/verdicts.ts';
import { BusyError, type QueueState } from '../contract.ts';
import type { Caps } from './caps.ts';
import type { Room } from './room.ts';
import { Seat, type SeatHost } from './seat.ts';
import { Wanted } from './wanted.ts';

export interface FindsDeps {
  readonly clock: Clock;
  readonly caps: Caps;
  /** Callers for whom one find may wait for its place. */
  maxQueue(): number;
  room(): Pick<Room, 'admits' | 'missing' | 'forget' | 'feed' | 'lets'>;
}

const RETRY_AFTER_MS = 1_000;

/** Waits until a find may begin. */
interface Caller {
  readonly until: number;
  refuse(): void;
}

export class Finds implements Places, SeatHost {
  readonly seats = new Set<Seat>();
  private readonly deps: FindsDeps;
  private readonly waiting = new Map<string, Wanted>();
  private readonly callers = new Map<string, Set<Caller>>();
  private readonly loans = new Map<string, Set<object>>();

  constructor(deps: FindsDeps) {
    this.deps = deps;
  }

  take(spec: ServerSpec): Promise<Place> {
    const id = idOf(spec);
    if (this.loans.has(id)) return Promise.resolve(this.seat(spec, true));
    for (const caller of [...this.callersOf(id)]) if (caller.until <= this.now()) caller.refuse();
    if (this.callersOf(id).size === 0) return Promise.reject(this.busy(spec));
    const wanted = new Wanted(spec, this.deps, {
      seat: (lent) => this.seat(spec, lent),
      left: () => {
        this.waiting.delete(id);
        this.deps.room().forget(wanted);
      },
    });
    this.waiting.set(id, wanted);
    wanted.serve();
    return wanted.granted.promise;
  }

  left(spec: ServerSpec): Place | null {
    return this.count(spec) ? this.seat(spec, false) : null;
  }

  async within<T>(spec: ServerSpec, waitMs: number, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const id = idOf(spec);
    const many = this.waiting.has(id) && this.callersOf(id).size >= this.deps.maxQueue();
    if (many) throw this.busy(spec, 'queue-full');
    const { promise, reject } = Promise.withResolvers<never>();
    const caller = { until: this.now() + waitMs, refuse: () => leave(this.busy(spec)) };
    const callers = this.callersOf(id);
    this.callers.set(id, callers.add(caller));
    const timer = this.deps.clock.setTimer(waitMs, () => {
      if (this.waiting.has(id)) caller.refuse();
    });
    const gone = () => {
      callers.delete(caller);
      if (callers.size === 0 && this.callers.get(id) === callers) this.callers.delete(id);
    };
    const leave = (why: Error) => {
      reject(why);
      gone();
      // For nobody it is not begun; where it runs, it is for the next one.
      if (callers.size === 0) this.waiting.get(id)?.refuse(why);
    };
    const onAbort = () => leave(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([begin(), promise]);
    } finally {
      timer.clear();
      signal.removeEventListener('abort', onAbort);
      gone();
    }
  }

  lend(spec: ServerSpec, signal: AbortSignal): Loan {
    const id = idOf(spec);
    const loan = {};
    this.loans.set(id, (this.loans.get(id) ?? new Set()).add(loan));
    this.waiting.get(id)?.grant(true);
    const lent = () => [...this.seats].filter((seat) => seat.lent && idOf(seat.spec) === id);
    const end = () => {
      const loans = this.loans.get(id);
      if (loans?.delete(loan) !== true || loans.size > 0) return;
      this.loans.delete(id);
    };
    // The start is given up and its place with it; who finds goes on for others, so it is counted itself.
    const left = () => {
      end();
      if (this.loans.has(id)) return;
      for (const seat of lent()) {
        seat.lent = false;
        this.deps.caps.add(spec);
      }
    };
    signal.addEventListener('abort', left, { once: true });
    const cleared = async () => {
      for (const seat of lent()) {
        seat.spare?.end();
        if (seat.over) await seat.running;
      }
    };
    const back = async () => {
      signal.removeEventListener('abort', left);
      if (!signal.aborted) await cleared();
      end();
    };
    return { cleared, back };
  }

  /** A process that the next start of this kind takes over, with the place that it has. */
  spareFor(spec: ServerSpec, fingerprint: string): Seat | undefined {
    for (const seat of this.seats) {
      const fits = seat.spare?.fingerprint === fingerprint && idOf(seat.spec) === idOf(spec);
      if (fits && seat.over && !seat.lent) return seat;
    }
    return undefined;
  }

  /** That start is now. */
  adopt(spec: ServerSpec, fingerprint: string): boolean {
    const seat = this.spareFor(spec, fingerprint);
    seat?.adopted();
    return seat !== undefined;
  }

  // What a seat asks of its host.

  now(): number {
    return this.deps.clock.now();
  }

  count(spec: ServerSpec): boolean {
    const { caps, room } = this.deps;
    if (caps.full(spec) !== null || !room().lets()) return false;
    caps.add(spec);
    return true;
  }

  uncount(spec: ServerSpec): void {
    this.deps.caps.remove(spec);
    this.deps.room().feed();
  }

  freed(seat: Seat): void {
    this.seats.delete(seat);
  }

  // The rest is its own.

  private seat(spec: ServerSpec, lent: boolean): Seat {
    const seat = new Seat(spec, lent, this);
    this.seats.add(seat);
    return seat;
  }

  private callersOf(id: string): Set<Caller> {
    return this.callers.get(id) ?? new Set();
  }

  private busy(spec: ServerSpec, full?: QueueState['why']): BusyError {
    const { caps } = this.deps;
    const id = idOf(spec);
    const why = full ?? caps.full(spec) ?? this.waiting.get(id)?.cap ?? 'node-full';
    const waiting = this.callersOf(id).size;
    return new BusyError(RETRY_AFTER_MS, { why, waiting, processes: caps.ofServer(spec) });
  }
}
