// Jobs of a single process: timers. They die with the process, which is what `state: memory` says of all its state.
// Payloads pass through JSON, as they do on Redis, so that a handler never shares an object with its scheduler.

import type { Clock, Timer } from '../clock.ts';
import { StateError } from '../errors.ts';
import { JOB_ATTEMPTS, JOB_BACKOFF_MS, type Jobs } from '../jobs.ts';

export interface MemoryJobsDeps {
  readonly clock: Clock;
  readonly warn: (words: string) => void;
  readonly backoffMs?: number;
  readonly maxJobs?: number;
}

interface Job {
  readonly key: string;
  readonly name: string;
  readonly payload: string;
  readonly timer: Timer | null;
  readonly attempt: number;
}

interface Line {
  handler: ((payload: unknown) => Promise<void>) | null;
  concurrency: number;
  /** Due, in order, not begun. */
  readonly due: Job[];
  readonly running: Set<Promise<void>>;
}

const MAX_JOBS = 100_000;
/** A longer delay overflows the timer and would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createMemoryJobs(deps: MemoryJobsDeps): Jobs {
  const { clock, warn, backoffMs = JOB_BACKOFF_MS, maxJobs = MAX_JOBS } = deps;
  /** The job that stands for a key now; one that is not it has been replaced or cancelled. */
  const current = new Map<string, Job>();
  const lines = new Map<string, Line>();
  let closed = false;

  function lineOf(name: string): Line {
    const line = lines.get(name) ?? { handler: null, concurrency: 0, due: [], running: new Set() };
    lines.set(name, line);
    return line;
  }

  function put(key: string, name: string, payload: string, delayMs: number, attempt: number): void {
    current.get(key)?.timer?.clear();
    const dueAt = clock.now() + delayMs;
    const arm = (): void => {
      const left = dueAt - clock.now();
      const timer = clock.setTimer(Math.min(Math.max(left, 0), MAX_TIMER_MS), left > MAX_TIMER_MS ? arm : due);
      current.set(key, { key, name, payload, timer, attempt });
    };
    const due = (): void => {
      const job: Job = { key, name, payload, timer: null, attempt };
      current.set(key, job);
      lineOf(name).due.push(job);
      begin(lineOf(name));
    };
    arm();
  }

  function begin(line: Line): void {
    while (line.handler !== null && line.running.size < line.concurrency) {
      const job = line.due.shift();
      if (job === undefined) return;
      if (current.get(job.key) !== job) continue;
      const run = attempt(job, line.handler).finally(() => {
        line.running.delete(run);
        if (!closed) begin(line);
      });
      line.running.add(run);
    }
  }

  async function attempt(job: Job, handler: (payload: unknown) => Promise<void>): Promise<void> {
    try {
      await handler(JSON.parse(job.payload));
      if (current.get(job.key) === job) current.delete(job.key);
    } catch (error) {
      failed(job, error);
    }
  }

  function failed(job: Job, error: unknown): void {
    const last = job.attempt >= JOB_ATTEMPTS;
    warn(
      `job ${job.name} failed${last ? ' for the last time' : ''}: ${error instanceof Error ? error.name : 'unknown'}`,
    );
    if (current.get(job.key) !== job || closed) return;
    if (last) current.delete(job.key);
    else put(job.key, job.name, job.payload, backoffMs * 2 ** (job.attempt - 1), job.attempt + 1);
  }

  return {
    async schedule(name, id, payload, delayMs) {
      const key = JSON.stringify([name, id]);
      if (closed) throw new StateError('ERR_STATE_CLOSED', 'the jobs are closed');
      if (!current.has(key) && current.size >= maxJobs) {
        throw new StateError('ERR_STATE_FULL', 'too many jobs for memory; use state: redis://…');
      }
      put(key, name, JSON.stringify(payload ?? null), delayMs, 1);
    },
    async cancel(name, id) {
      const key = JSON.stringify([name, id]);
      current.get(key)?.timer?.clear();
      current.delete(key);
    },
    async handle(name, concurrency, handler) {
      const line = lineOf(name);
      if (line.handler !== null) throw new Error(`job ${name} has a handler already`);
      line.handler = handler;
      line.concurrency = concurrency;
      begin(line);
    },
    async close() {
      closed = true;
      for (const job of current.values()) job.timer?.clear();
      current.clear();
      await Promise.allSettled([...lines.values()].flatMap((line) => [...line.running]));
    },
  };
}
