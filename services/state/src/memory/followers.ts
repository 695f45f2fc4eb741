// Who follows which log of the memory store. A follower holds its own position and pulls; an append only wakes it.
// Delivery never happens inside `append`, so a follower that appends does not re-enter itself.

import type { Following, LogEntry } from '../store.ts';

export interface Followers {
  follow(key: string, after: string, deliver: (entry: LogEntry) => void, failed: (error: Error) => void): Following;
  wake(key: string): void;
  close(): void;
}

export function createFollowers(readAfter: (key: string, after: string) => readonly LogEntry[]): Followers {
  const waking = new Map<string, Set<() => void>>();
  let closed = false;

  function leave(key: string, wake: () => void): void {
    const set = waking.get(key);
    set?.delete(wake);
    if (set?.size === 0) waking.delete(key);
  }

  return {
    follow(key, after, deliver, failed) {
      let position = after;
      let open = true;
      let scheduled = false;

      const close = (): void => {
        open = false;
        leave(key, wake);
      };
      const pump = (): void => {
        scheduled = false;
        if (closed) return;
        try {
          for (const entry of open ? readAfter(key, position) : []) {
            if (!open) return;
            position = entry.position;
            deliver(entry);
          }
        } catch (error) {
          if (!open) return;
          close();
          failed(error instanceof Error ? error : new Error(String(error)));
        }
      };
      function wake(): void {
        if (scheduled) return;
        scheduled = true;
        queueMicrotask(pump);
      }

      const set = waking.get(key) ?? new Set();
      waking.set(key, set.add(wake));
      wake();
      return { close };
    },
    wake(key) {
      for (const wake of waking.get(key) ?? []) wake();
    },
    close() {
      closed = true;
      waking.clear();
    },
  };
}
