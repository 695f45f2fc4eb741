// The memory store's table: keys with a kind, an end and a size. Expired keys are gone the moment they are looked at
// and swept in small steps by one timer; the bound on keys and bytes is met by refusing, never by forgetting a live
// key (a session that vanished early would be a lie).

import type { Clock, Timer } from '../clock.ts';
import { StateError } from '../errors.ts';
import type { LogEntry } from '../store.ts';

export interface TextEntry {
  readonly kind: 'text';
  value: string;
  expiresAt: number;
  bytes: number;
}

export interface SetEntry {
  readonly kind: 'set';
  readonly members: Set<string>;
  expiresAt: number;
  bytes: number;
}

export interface StreamEntry {
  readonly kind: 'log';
  readonly entries: LogEntry[];
  expiresAt: number;
  bytes: number;
}

export type Entry = TextEntry | SetEntry | StreamEntry;

export interface EntriesOptions {
  readonly clock: Clock;
  readonly maxKeys: number;
  readonly maxBytes: number;
}

const SWEEP_MS = 1000;
const SWEEP_KEYS = 20_000;
/** A guess at what a key costs besides its text. */
const KEY_OVERHEAD = 128;

export interface Entries {
  get<K extends Entry['kind']>(key: string, kind: K): Extract<Entry, { kind: K }> | undefined;
  /** Whatever its kind. */
  find(key: string): Entry | undefined;
  put(key: string, entry: Entry): void;
  /** Accounts for growth of an entry that is in the table; refuses beyond the bound before anything is changed. */
  grow(entry: Entry, bytes: number): void;
  drop(key: string): boolean;
  keys(): Iterable<string>;
  readonly open: boolean;
  assertOpen(): void;
  close(): void;
}

export function sizeOf(text: string): number {
  return text.length * 2;
}

export function createEntries({ clock, maxKeys, maxBytes }: EntriesOptions): Entries {
  const table = new Map<string, Entry>();
  let bytes = 0;
  let timer: Timer | null = null;
  let cursor: Iterator<[string, Entry]> | null = null;
  let closed = false;

  const full = (): StateError => new StateError('ERR_STATE_FULL', 'the memory store is full; use state: redis://…');

  function remove(key: string, entry: Entry): void {
    table.delete(key);
    bytes -= entry.bytes;
  }

  function arm(): void {
    if (timer !== null || closed || table.size === 0) return;
    timer = clock.setTimer(SWEEP_MS, () => {
      timer = null;
      sweep(SWEEP_KEYS);
      arm();
    });
    timer.unref?.();
  }

  // A Map's iterator is live: it goes on correctly after deletions and additions, so a step may stop anywhere.
  function sweep(limit: number): void {
    const now = clock.now();
    for (let seen = 0; seen < limit; seen++) {
      cursor ??= table.entries();
      const next = cursor.next();
      if (next.done) {
        cursor = null;
        return;
      }
      if (next.value[1].expiresAt <= now) remove(next.value[0], next.value[1]);
    }
  }

  function makeRoom(more: number, keys: number): void {
    if (table.size + keys <= maxKeys && bytes + more <= maxBytes) return;
    cursor = null;
    sweep(Number.POSITIVE_INFINITY);
    if (table.size + keys > maxKeys || bytes + more > maxBytes) throw full();
  }

  function assertOpen(): void {
    if (closed) throw new StateError('ERR_STATE_CLOSED', 'the store is closed');
  }

  function find(key: string): Entry | undefined {
    assertOpen();
    const entry = table.get(key);
    if (entry === undefined || entry.expiresAt > clock.now()) return entry;
    remove(key, entry);
    return undefined;
  }

  return {
    find,
    get(key, kind) {
      const entry = find(key);
      if (entry !== undefined && entry.kind !== kind) {
        throw new StateError('ERR_STATE_KIND', `the key holds a ${entry.kind}, not a ${kind}`);
      }
      return entry as Extract<Entry, { kind: typeof kind }> | undefined;
    },
    put(key, entry) {
      const old = find(key);
      const size = entry.bytes + sizeOf(key) + KEY_OVERHEAD;
      makeRoom(size - (old?.bytes ?? 0), old === undefined ? 1 : 0);
      if (old !== undefined) remove(key, old);
      entry.bytes = size;
      table.set(key, entry);
      bytes += size;
      arm();
    },
    grow(entry, more) {
      if (more > 0) makeRoom(more, 0);
      entry.bytes += more;
      bytes += more;
    },
    drop(key) {
      const entry = find(key);
      if (entry !== undefined) remove(key, entry);
      return entry !== undefined;
    },
    *keys() {
      for (const key of [...table.keys()]) if (find(key) !== undefined) yield key;
    },
    get open() {
      return !closed;
    },
    assertOpen,
    close() {
      closed = true;
      timer?.clear();
      timer = null;
      table.clear();
    },
  };
}
