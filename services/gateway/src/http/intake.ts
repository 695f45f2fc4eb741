// How many megabytes of request bodies one replica holds (auth-security.md T-48): each counts from before it is read
// until its answer is out. Beyond the bound the next one is not read yet: its client's socket fills up and waits, as long
// as calls wait anywhere (limits.queueMs). Small bodies pass; who sends them is bounded by number.

import type { ServerResponse } from 'node:http';
import type { Principal } from '@lockkeeper/protocol/link/frames';

export interface IntakeBounds {
  readonly bytes: number;
  /** One person's part of them, so that nobody fills the house. */
  readonly bytesEach: number;
  /** Of one person's, those being read at the same time: between them the event loop has to come round to the others. */
  readonly readingEach: number;
  /**
   * Of one person's, those that have just come and are being passed on: a burst of megabytes keeps processors busy on every
   * hop, and everybody's small calls wait for them. What is answered only later counts no longer than `movingMs`.
   */
  readonly movingEach: number;
  readonly movingMs: number;
  /** Up to this size a body is not counted. */
  readonly smallBytes: number;
}

export const INTAKE_BOUNDS: IntakeBounds = {
  bytes: 128 * 1024 * 1024,
  bytesEach: 64 * 1024 * 1024,
  readingEach: 8 * 1024 * 1024,
  movingEach: 4 * 1024 * 1024,
  movingMs: 150,
  smallBytes: 64 * 1024,
};

/** Longest wait, whatever limits.queueMs says: Node counts it as part of the request's time. */
export const MAX_WAIT_MS = 30_000;

/** `gone`: nobody waits for the answer any more. */
export type Admission = 'in' | 'late' | 'gone';

export interface Intake {
  /** One body of so many bytes, whose answer goes out by `response`. */
  enter(principal: Principal, bytes: number, waitMs: number, response: ServerResponse): 'in' | Promise<Admission>;
  /** Each that came in, once: it has been read, or never will be. */
  read(principal: Principal, bytes: number): void;
}

interface Waiter {
  readonly person: string;
  readonly bytes: number;
  settle(admission: Admission): void;
}

type SetTimer = (ms: number, run: () => void) => { clear(): void };

export function createIntake(setTimer: SetTimer, bounds: IntakeBounds = INTAKE_BOUNDS): Intake {
  const held = new Map<string, number>();
  const reading = new Map<string, number>();
  const moving = new Map<string, number>();
  const waiters = new Set<Waiter>();
  let total = 0;

  /** One that is larger than the bound goes when nothing else is there. */
  function fits(person: string, bytes: number): boolean {
    if (total > 0 && total + bytes > bounds.bytes) return false;
    if (!within(moving, person, bytes, bounds.movingEach)) return false;
    return within(held, person, bytes, bounds.bytesEach) && within(reading, person, bytes, bounds.readingEach);
  }

  function hold(person: string, bytes: number): void {
    total += bytes;
    add(held, person, bytes);
  }

  function serve(): void {
    const behind = new Set<string>();
    for (const waiter of waiters) {
      if (!behind.has(waiter.person) && fits(waiter.person, waiter.bytes)) waiter.settle('in');
      else behind.add(waiter.person);
    }
  }

  function wait(person: string, bytes: number, waitMs: number, response: ServerResponse): Promise<Admission> {
    return new Promise((resolve) => {
      const leave = () => waiter.settle('gone');
      const timer = setTimer(waitMs, () => waiter.settle('late'));
      const waiter: Waiter = {
        person,
        bytes,
        settle(admission) {
          waiters.delete(waiter);
          timer.clear();
          response.off('close', leave);
          if (admission === 'in') admit(person, bytes, response);
          else serve();
          resolve(admission);
        },
      };
      waiters.add(waiter);
      response.once('close', leave);
    });
  }

  function admit(person: string, bytes: number, response: ServerResponse): void {
    hold(person, bytes);
    add(reading, person, bytes);
    add(moving, person, bytes);
    let moves = true;
    const rest = () => {
      if (moves) add(moving, person, -bytes);
      moves = false;
      if (waiters.size > 0) serve();
    };
    const timer = setTimer(bounds.movingMs, rest);
    response.once('close', () => {
      timer.clear();
      hold(person, -bytes);
      rest();
    });
  }

  return {
    enter(principal, bytes, waitMs, response) {
      if (bytes <= bounds.smallBytes) return 'in';
      const person = nameOf(principal);
      const waits = [...waiters].some((waiter) => waiter.person === person);
      if (waits || !fits(person, bytes)) {
        return wait(person, bytes, Math.min(waitMs, MAX_WAIT_MS), response);
      }
      admit(person, bytes, response);
      return 'in';
    },
    read(principal, bytes) {
      if (bytes <= bounds.smallBytes) return;
      add(reading, nameOf(principal), -bytes);
      if (waiters.size > 0) serve();
    },
  };
}

function nameOf({ tenant, issuer, subject }: Principal): string {
  return `${tenant}\n${issuer}\n${subject}`;
}

/** What is larger than a bound goes alone. */
function within(counts: ReadonlyMap<string, number>, person: string, bytes: number, bound: number): boolean {
  const own = counts.get(person) ?? 0;
  return own === 0 || own + bytes <= bound;
}

function add(counts: Map<string, number>, person: string, bytes: number): void {
  const own = (counts.get(person) ?? 0) + bytes;
  if (own > 0) counts.set(person, own);
  else counts.delete(person);
}
