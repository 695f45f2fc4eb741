// Following a log: a hint on the log's channel wakes the follower, which reads on from its own position. Hints may be
// lost, so a slow round wakes everyone in slices. An idle follower costs one subscription and a read now and then; no
// connection of its own and no blocking read. An outage pauses a follower; it does not end it.

import type { Clock, Timer } from '../clock.ts';
import { isStateError } from '../errors.ts';
import type { Following, LogEntry } from '../store.ts';
import type { RedisChannels } from './channels.ts';

export interface FollowersDeps {
  readonly clock: Clock;
  readonly channels: RedisChannels;
  readonly read: (key: string, after: string, limit: number) => Promise<LogEntry[]>;
  /** Each follower reads at least this often without a hint. */
  readonly roundMs?: number;
}

export interface Followers {
  follow(key: string, after: string, deliver: (entry: LogEntry) => void, failed: (error: Error) => void): Following;
  close(): void;
}

const ROUND_MS = 5000;
const SLICES = 25;
const PAGE = 128;

/** The channel on which an append to this log is hinted. */
export function hintChannel(key: string): string {
  return `${key}:appended`;
}

export function createFollowers({ clock, channels, read, roundMs = ROUND_MS }: FollowersDeps): Followers {
  const all = new Set<() => void>();
  let turn: Iterator<() => void> | null = null;
  let timer: Timer | null = null;

  channels.onResume(() => {
    for (const wake of all) wake();
  });

  function arm(): void {
    if (timer !== null || all.size === 0) return;
    timer = clock.setTimer(roundMs / SLICES, () => {
      timer = null;
      wakeSlice(Math.ceil(all.size / SLICES));
      arm();
    });
    timer.unref?.();
  }

  function wakeSlice(count: number): void {
    for (let i = 0; i < count; i++) {
      turn ??= all.values();
      const next = turn.next();
      if (next.done) {
        turn = null;
        return;
      }
      next.value();
    }
  }

  return {
    follow(key, after, deliver, failed) {
      const pump = createPump(read, key, after, deliver, (error) => {
        close();
        failed(error);
      });
      const wish = channels.want(hintChannel(key), pump.wake);
      // Subscribed or not: read now. If not, the resubscription after the outage wakes it again.
      wish.taken.then(pump.wake, pump.wake);
      all.add(pump.wake);
      arm();
      function close(): void {
        if (!all.delete(pump.wake)) return;
        pump.close();
        wish.leave().catch(() => undefined);
      }
      return { close };
    },
    close() {
      all.clear();
      timer?.clear();
      timer = null;
    },
  };
}

interface Pump {
  wake(): void;
  close(): void;
}

/** One read at a time; a wake during a read makes it read once more. */
function createPump(
  read: FollowersDeps['read'],
  key: string,
  after: string,
  deliver: (entry: LogEntry) => void,
  failed: (error: Error) => void,
): Pump {
  let position = after;
  let open = true;
  let reading = false;
  let again = false;

  async function readOn(): Promise<void> {
    do {
      again = false;
      const entries = await read(key, position, PAGE);
      for (const entry of entries) {
        if (!open) return;
        position = entry.position;
        deliver(entry);
      }
      if (entries.length === PAGE) again = true;
    } while (open && again);
  }

  function wake(): void {
    again = true;
    if (reading || !open) return;
    reading = true;
    readOn()
      .catch((error: unknown) => {
        if (!open || isStateError(error, 'ERR_STATE_UNREACHABLE') || isStateError(error, 'ERR_STATE_CLOSED')) return;
        failed(error instanceof Error ? error : new Error(String(error)));
      })
      .finally(() => {
        reading = false;
      });
  }

  return {
    wake,
    close: () => {
      open = false;
    },
  };
}
