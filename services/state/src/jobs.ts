// Durable, retried, scheduled work (design §2): BullMQ on Redis, timers in memory. Nothing on the request path waits
// for a job. Handlers must be idempotent: at least once is the promise.

export interface Jobs {
  /** Runs `name` with `payload` after `delayMs`. The same `id` again replaces the earlier one that has not run. */
  schedule(name: string, id: string, payload: unknown, delayMs: number): Promise<void>;
  cancel(name: string, id: string): Promise<void>;
  /** Starts taking jobs of `name`; at most `concurrency` at once. */
  handle(name: string, concurrency: number, handler: (payload: unknown) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** A handler that throws is called again, each time after twice the pause, until this many calls are used up. */
export const JOB_ATTEMPTS = 5;
export const JOB_BACKOFF_MS = 1000;
