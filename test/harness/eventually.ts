// Waits for a condition with a deadline instead of sleeping: asks again and again until it answers without throwing.

import { setTimeout as delay } from 'node:timers/promises';

export interface Patience {
  readonly deadlineMs?: number;
  readonly everyMs?: number;
}

/** Gives what `attempt` gave when it first neither threw nor answered false; at the deadline its last complaint. */
export async function eventually<T>(attempt: () => T | Promise<T>, patience: Patience = {}): Promise<T> {
  const { deadlineMs = 5_000, everyMs = 20 } = patience;
  const end = performance.now() + deadlineMs;
  for (;;) {
    let complaint: unknown;
    try {
      const value = await attempt();
      if (value !== false) return value;
      complaint = new Error('still false');
    } catch (error) {
      complaint = error;
    }
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms`, { cause: complaint });
    await delay(everyMs);
  }
}

/** A promise that must settle in time; the timer never outlives it. */
export async function within<T>(promise: Promise<T>, deadlineMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
