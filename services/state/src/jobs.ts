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
