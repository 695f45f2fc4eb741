// Things kept for a while: in this process (bounded by bytes), then in the store for the other replicas, then asked
// for, by one flight per key however many wait. Who asks says which age is good enough. Losing the store costs a
// request upstream and nothing else (design §6). It never rejects.

import { createHash } from 'node:crypto';
import type { Clock } from '@lockkeeper/state/clock';
import { keyOf, type Store } from '@lockkeeper/state/store';
import { LRUCache } from 'lru-cache';
import type { CallFault } from '../contract.ts';
import { atMost } from '../wait.ts';

/** As it came over the link; this is what the store holds. */
export interface Raw {
  readonly members: Uint8Array;
  readonly meta?: string;
}

export interface Entry<T> {
  readonly value: T;
  /** Unix ms. */
  readonly loadedAt: number;
}

export type Outcome<T> =
  | { readonly kind: 'kept'; readonly entry: Entry<T> }
  | { readonly kind: 'fault'; readonly fault: CallFault };

/** Whether an entry will do; `now` in Unix ms. */
export type Good<T> = (entry: Entry<T>, now: number) => boolean;

export type Source = () => Promise<
  { readonly kind: 'raw'; readonly raw: Raw } | { readonly kind: 'fault'; readonly fault: CallFault }
>;

export interface KeptKey {
  readonly tenant: string;
  readonly kind: string;
  readonly context: string;
  /** Put together once. */
  readonly id: string;
  readonly staleId: string;
}

export interface Kept<T> {
  /** What is in this process, of any age. */
  peek(key: KeptKey): Entry<T> | undefined;
  load(key: KeptKey, good: Good<T>, source: Source, parse: (raw: Raw) => T | null): Promise<Outcome<T>>;
  /** What was loaded up to now for this owner, in whatever context, is no longer what the server has. */
  stale(kind: string, owner: string): void;
  /** Unix ms of the last `stale`; 0: never. Who asks weighs it: a page of an old list may still be wanted. */
  staleAt(key: KeptKey): number;
  /** Lets go of what nobody has looked at since the last time; the store may still have it. */
  forget(): void;
}

export interface KeptDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly loaded?: (kind: string, source: 'store' | 'link' | 'fault') => void;
}

/** How long a failed load is not tried again, so that a dead server is not knocked at by every caller. */
const FAILED_MS = 1000;
const MAX_FAILED = 1000;
const MAX_STALE = 20_000;
/** In the store at least, and no longer than any list may be served (limits.listTtlMs). */
const STORE_TTL_MS = 10 * 60 * 1000;
const MAX_STORE_TTL_MS = 24 * 3600 * 1000;
const STORE_WAIT_MS = 300;
/** The store's copy of something that is stale at once and has not changed is renewed no more often than this. */
const RESTORE_MS = 2 * 60 * 1000;
/** Larger ones stay in the process that loaded them. */
const MAX_STORED_BYTES = 4 * 1024 * 1024;

/** Faults that say something about the server, and will say the same in a moment. */
const LASTING: ReadonlySet<string> = new Set(['start-failed', 'denied', 'timeout', 'lost', 'protocol', 'upstream']);

interface Held<T> extends Entry<T> {
  readonly bytes: number;
  readonly storedAt: number;
  /** Since it was last asked what may go. */
  looked: boolean;
}

interface Keepable {
  readonly version: string;
  readonly ttlMs: number;
}

export function createKept<T extends Keepable>(deps: KeptDeps): Kept<T> {
  const { clock, store } = deps;
  const held = new LRUCache<string, Held<T>>({ maxSize: deps.maxBytes, sizeCalculation: (h) => h.bytes + 512 });
  const flights = new Map<string, Promise<Outcome<T>>>();
  const stale = new LRUCache<string, number>({ max: MAX_STALE });
  const staleAt = (key: KeptKey): number => stale.get(key.staleId) ?? 0;
  const failed = new LRUCache<string, { readonly at: number; readonly fault: CallFault }>({ max: MAX_FAILED });

  async function fetch(
    id: string,
    key: KeptKey,
    good: Good<T>,
    source: Source,
    parse: (raw: Raw) => T | null,
  ): Promise<Outcome<T>> {
    const had = held.get(id);
    // What is stale at once is of no use from the store either, unless there is nothing at all.
    const stored = had?.value.ttlMs === 0 ? null : await readStore(key, parse);
    if (stored !== null && good(stored, clock.now())) return keep(id, key, stored, 'store');
    const before = failed.get(id);
    if (before !== undefined && clock.now() - before.at < FAILED_MS) return fault(before.fault);
    const askedAt = clock.now();
    const answer = await source();
    const value = answer.kind === 'raw' ? parsed(answer.raw, parse) : null;
    if (answer.kind === 'fault' || value === null) {
      const why = answer.kind === 'fault' ? answer.fault : NOT_READABLE;
      if (LASTING.has(why.reason)) failed.set(id, { at: clock.now(), fault: why });
      deps.loaded?.(key.kind, 'fault');
      return fault(why);
    }
    // Changed while it was on its way: nobody knows which of the two it shows.
    const loadedAt = staleAt(key) >= askedAt ? askedAt : clock.now();
    const known = had !== undefined && had.value.version === value.version && loadedAt - had.storedAt < RESTORE_MS;
    const storedAt = value.ttlMs === 0 && known ? had.storedAt : loadedAt;
    if (storedAt === loadedAt) void writeStore(key, answer.raw, loadedAt, value.ttlMs);
    return keep(id, key, { value, loadedAt, storedAt, bytes: answer.raw.members.length, looked: true }, 'link');
  }

  function fly(id: string, key: KeptKey, good: Good<T>, source: Source, parse: (raw: Raw) => T | null) {
    const flight = fetch(id, key, good, source, parse)
      .catch(() => fault<T>(BROKEN))
      .finally(() => flights.delete(id));
    flights.set(id, flight);
    return flight;
  }

  function keep(id: string, key: KeptKey, entry: Held<T>, from: 'store' | 'link'): Outcome<T> {
    held.set(id, entry);
    failed.delete(id);
    deps.loaded?.(key.kind, from);
    return { kind: 'kept', entry };
  }

  async function readStore(key: KeptKey, parse: (raw: Raw) => T | null): Promise<Held<T> | null> {
    if (!store.reachable()) return null;
    const text = await atMost(clock, STORE_WAIT_MS, store.get(storeKey(key)), null);
    if (text === null) return null;
    const { m, x, t } = JSON.parse(text) as { m: string; x?: string; t: number };
    const members = Buffer.from(m);
    const value = parsed(x === undefined ? { members } : { members, meta: x }, parse);
    return value === null ? null : { value, loadedAt: t, storedAt: t, bytes: members.length, looked: true };
  }

  async function writeStore(key: KeptKey, raw: Raw, loadedAt: number, ttlMs: number): Promise<void> {
    if (!store.reachable() || raw.members.length > MAX_STORED_BYTES) return;
    const text = JSON.stringify({ m: Buffer.from(raw.members).toString(), x: raw.meta, t: loadedAt });
    const storedMs = Math.min(MAX_STORE_TTL_MS, Math.max(STORE_TTL_MS, ttlMs));
    await atMost(clock, STORE_WAIT_MS, store.set(storeKey(key), text, storedMs), undefined);
  }

  function look(key: KeptKey): Held<T> | undefined {
    const entry = held.get(key.id);
    if (entry !== undefined) entry.looked = true;
    return entry;
  }

  function forget(): void {
    for (const [id, entry] of held) {
      if (entry.looked) entry.looked = false;
      else held.delete(id);
    }
  }

  return {
    peek: look,
    forget,
    stale: (kind, owner) => void stale.set(staleId(kind, owner), clock.now()),
    staleAt,
    async load(key, good, source, parse) {
      const { id } = key;
      const askedAt = clock.now();
      const entry = look(key);
      if (entry !== undefined && good(entry, askedAt)) return { kind: 'kept', entry };
      const joined = flights.get(id);
      if (joined !== undefined) {
        const outcome = await joined;
        // It may have been content with less than we ask, with what the store had; then one of our own.
        if (outcome.kind === 'fault' || outcome.entry.loadedAt >= askedAt || good(outcome.entry, askedAt))
          return outcome;
      }
      return flights.get(id) ?? fly(id, key, good, source, parse);
    },
  };
}

const NOT_READABLE: CallFault = {
  reason: 'protocol',
  code: -32603,
  message: 'its answer does not hold what the method promises',
  mayHaveRun: true,
};

const BROKEN: CallFault = { reason: 'internal', code: -32603, message: '', mayHaveRun: false };

function fault<T>(why: CallFault): Outcome<T> {
  return { kind: 'fault', fault: why };
}

function parsed<T>(raw: Raw, parse: (raw: Raw) => T | null): T | null {
  try {
    return parse(raw);
  } catch {
    return null; // not JSON, or nested too deeply to look at: the caller says that the server broke the protocol
  }
}

export function keptKey(tenant: string, kind: string, context: string): KeptKey {
  return { tenant, kind, context, id: `${kind}\n${context}`, staleId: staleId(kind, context) };
}

/** A context begins with its owner key, which holds no line break (route/upstream.ts). */
function staleId(kind: string, context: string): string {
  const end = context.indexOf('\n');
  return `${kind}\n${end < 0 ? context : context.slice(0, end)}`;
}

/** The context names people; only its hash is in the key (protocol.md §5.6 `list:{up}:{kind}:{ctx}`). */
function storeKey(key: KeptKey): string {
  return keyOf(key.tenant, 'list', key.kind, createHash('sha256').update(key.context).digest('base64url'));
}
