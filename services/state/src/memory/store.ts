// The store of a single process (standalone, tests). The same contract and the same suite as redis/store.ts. Nothing
// here awaits, so every operation is atomic by itself. Bounded: beyond the bound writes are refused.

import type { Clock } from '../clock.ts';
import { checkedPosition, checkedTtl } from '../errors.ts';
import type { LogEntry, Store } from '../store.ts';
import { createChannels } from './channels.ts';
import { createEntries, type Entries, sizeOf } from './entries.ts';
import { createFollowers } from './followers.ts';

export interface MemoryStoreDeps {
  readonly clock: Clock;
  readonly warn: (words: string) => void;
  readonly maxKeys?: number;
  /** Characters count two each; what is not text is a guess. */
  readonly maxBytes?: number;
}

const MAX_KEYS = 500_000;
const MAX_BYTES = 512 * 1024 * 1024;

export function createMemoryStore(deps: MemoryStoreDeps): Store {
  const { clock } = deps;
  const entries = createEntries({ clock, maxKeys: deps.maxKeys ?? MAX_KEYS, maxBytes: deps.maxBytes ?? MAX_BYTES });
  const channels = createChannels(deps.warn);
  const followers = createFollowers((key, after) => entriesAfter(entries, key, after));

  return {
    kind: 'memory',
    ...textOperations(entries, clock),
    ...setOperations(entries, clock),
    ...logOperations(entries, clock, followers.wake),
    follow(key, after, deliver, failed) {
      return followers.follow(key, checkedPosition(after), deliver, failed);
    },
    async publish(channel, message) {
      entries.assertOpen();
      channels.publish(channel, message);
    },
    async subscribe(channel, listener) {
      entries.assertOpen();
      const leave = channels.subscribe(channel, listener);
      return async () => leave();
    },
    reachable: () => entries.open,
    async close() {
      followers.close();
      channels.close();
      entries.close();
    },
  };
}

type TextOperations = Pick<
  Store,
  | 'get'
  | 'getMany'
  | 'set'
  | 'setIfAbsent'
  | 'compareAndSet'
  | 'compareAndTouch'
  | 'compareAndDelete'
  | 'touch'
  | 'delete'
  | 'take'
  | 'scan'
>;

function textOperations(entries: Entries, clock: Clock): TextOperations {
  const read = (key: string): string | null => entries.get(key, 'text')?.value ?? null;
  const write = (key: string, value: string, ttlMs: number): void => {
    const expiresAt = clock.now() + checkedTtl(ttlMs);
    entries.put(key, { kind: 'text', value, expiresAt, bytes: sizeOf(value) });
  };
  return {
    get: async (key) => read(key),
    getMany: async (keys) => keys.map(read),
    set: async (key, value, ttlMs) => write(key, value, ttlMs),
    async setIfAbsent(key, value, ttlMs) {
      checkedTtl(ttlMs);
      if (entries.find(key) !== undefined) return false;
      write(key, value, ttlMs);
      return true;
    },
    async compareAndSet(key, expected, value, ttlMs) {
      checkedTtl(ttlMs);
      if (read(key) !== expected) return false;
      write(key, value, ttlMs);
      return true;
    },
    async compareAndTouch(key, expected, ttlMs) {
      const expiresAt = clock.now() + checkedTtl(ttlMs);
      const entry = entries.get(key, 'text');
      if (entry === undefined || entry.value !== expected) return false;
      entry.expiresAt = expiresAt;
      return true;
    },
    compareAndDelete: async (key, expected) => read(key) === expected && entries.drop(key),
    async touch(key, ttlMs) {
      const expiresAt = clock.now() + checkedTtl(ttlMs);
      const entry = entries.find(key);
      if (entry === undefined) return false;
      entry.expiresAt = expiresAt;
      return true;
    },
    delete: async (key) => entries.drop(key),
    async take(key) {
      const value = read(key);
      if (value !== null) entries.drop(key);
      return value;
    },
    scan: async (prefix) => [...entries.keys()].filter((key) => key.startsWith(prefix)),
  };
}

function setOperations(entries: Entries, clock: Clock): Pick<Store, 'addToSet' | 'removeFromSet' | 'membersOf'> {
  return {
    async addToSet(key, member, cap, ttlMs) {
      const expiresAt = clock.now() + checkedTtl(ttlMs);
      const entry = entries.get(key, 'set');
      if (entry?.members.has(member)) {
        entry.expiresAt = expiresAt;
        return 'present';
      }
      if ((entry?.members.size ?? 0) >= cap) return 'full';
      if (entry === undefined) {
        entries.put(key, { kind: 'set', members: new Set([member]), expiresAt, bytes: sizeOf(member) });
      } else {
        entries.grow(entry, sizeOf(member));
        entry.members.add(member);
        entry.expiresAt = expiresAt;
      }
      return 'added';
    },
    async removeFromSet(key, member) {
      const entry = entries.get(key, 'set');
      if (entry === undefined || !entry.members.delete(member)) return false;
      entries.grow(entry, -sizeOf(member));
      if (entry.members.size === 0) entries.drop(key);
      return true;
    },
    membersOf: async (key) => [...(entries.get(key, 'set')?.members ?? [])],
  };
}

function logOperations(entries: Entries, clock: Clock, wake: (key: string) => void): Pick<Store, 'append' | 'read'> {
  // Counted from the clock, so that positions of an earlier life of this process lie before every new one.
  let last = clock.now() * 1000;
  return {
    async append(key, value, maxLength, ttlMs) {
      const expiresAt = clock.now() + checkedTtl(ttlMs);
      const log = entries.get(key, 'log');
      const entry = { position: `${last + 1}-0`, value };
      if (log === undefined) {
        entries.put(key, { kind: 'log', entries: [entry], expiresAt, bytes: sizeOf(value) });
      } else {
        entries.grow(log, sizeOf(value));
        log.entries.push(entry);
        log.expiresAt = expiresAt;
        for (const old of log.entries.splice(0, Math.max(0, log.entries.length - maxLength))) {
          entries.grow(log, -sizeOf(old.value));
        }
      }
      last++;
      wake(key);
      return entry.position;
    },
    async read(key, after, limit) {
      return entriesAfter(entries, key, checkedPosition(after)).slice(0, Math.max(0, limit));
    },
  };
}

function numberOf(position: string): number {
  return Number(position.slice(0, position.indexOf('-')));
}

function entriesAfter(entries: Entries, key: string, after: string): readonly LogEntry[] {
  const log = entries.get(key, 'log')?.entries ?? [];
  if (after === '') return log.slice();
  const from = numberOf(after);
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numberOf(log[middle]?.position ?? '') > from) high = middle;
    else low = middle + 1;
  }
  return log.slice(low);
}
