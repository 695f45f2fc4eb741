// Legacy sessions in the store, so valid on every replica (GB-001), bound to person, program and route (RS-23). A
// small cache spares the warm call a read; it lives for a second and a hint cuts it shorter, so an ended session is
// unknown everywhere at once or a moment later. Unreachable state is said as such, never taken for "unknown" (GB-142).

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import { LRUCache } from 'lru-cache';
import type { Authenticated } from '../exchange.ts';
import type { Hints } from './hints.ts';
import { looksLikeSessionId, mintSessionId, type Random, sessionHash } from './id.ts';
import { allKeys, fadingKey, indexKey, ownedKey, recordKey } from './keys.ts';
import { createOwned } from './owned.ts';
import { belongsTo, decodeRecord, encodeRecord, type Session, type SessionRecord, timeLeft } from './record.ts';

export type Found =
  | { readonly kind: 'found'; readonly session: Session }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreadable' };

export type Opened = Found | { readonly kind: 'full' };

export type Opening = Pick<SessionRecord, 'transport' | 'revision' | 'capabilities' | 'clientInfo'>;
export type SessionPatch = Partial<
  Pick<SessionRecord, 'revision' | 'capabilities' | 'clientInfo' | 'logLevel' | 'initialized'>
>;

export interface Sessions {
  mint(): string;
  open(ticket: Authenticated, id: string, opening: Opening): Promise<Opened>;
  /** `unknown` for another's, another route's, an ended and a never-made one alike. */
  find(ticket: Authenticated, id: string): Promise<Found>;
  change(session: Session, patch: SessionPatch): Promise<Found>;
  /** Puts its end off again. `unknown`: it has ended meanwhile. */
  renew(session: Session): Promise<Found['kind']>;
  /** How often that must happen, so that nothing in use ever ends as unused. */
  renewEveryMs(): number;
  /** Removes everything that the store keeps of it. Idempotent; rejects when the store does not answer. */
  end(session: Session): Promise<void>;
  /** Lets go of records that would have to be read again anyway. */
  forget(): void;
}

export interface SessionsDeps {
  readonly store: Store;
  readonly config: ConfigSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly hints: Hints;
  readonly failed: (what: string, error: unknown) => void;
  /** Somebody or something else than it belongs to has named it; to the caller it is unknown (design §6). */
  readonly foreign?: (ticket: Authenticated, id: string) => void;
  /** A session made room for another of the same principal. */
  readonly evicted?: (principal: Principal, id: string) => void;
}

/** How long a read is believed. */
const FRESH_MS = 1000;
/** `lastSeen` is written at most this often, and several times in the life of an unused session. */
const RENEW_EVERY_MS = 30_000;
const RENEWALS_IN_A_LIFE = 4;
const CACHE_CAP = 10_000;
const CAS_TRIES = 8;

interface Cached {
  readonly session: Session;
  readonly readAt: number;
}

export function createSessions(deps: SessionsDeps): Sessions {
  const { store, clock } = deps;
  const cache = new LRUCache<string, Cached>({ max: CACHE_CAP });
  const reads = new Map<string, Promise<Session | null>>();
  const renewing = new Set<string>();
  const owned = createOwned({ store, end: endById, evicted: deps.evicted ?? (() => undefined) });
  const limits = () => deps.config.current().limits;
  const renewEveryMs = () => Math.min(RENEW_EVERY_MS, limits().sessionIdleMs / RENEWALS_IN_A_LIFE);

  deps.hints.on((hint) => {
    if (hint.kind === 'ended' || hint.kind === 'changed') cache.delete(recordKey(hint.tenant, hint.id));
  });

  function remember(id: string, record: SessionRecord): Session {
    const session = { id, hash: sessionHash(id), record };
    cache.set(recordKey(record.tenant, id), { session, readAt: clock.now() });
    return session;
  }

  /** One read at a time for one session, however many requests wait for it. */
  function load(tenant: string, id: string): Promise<Session | null> {
    const key = recordKey(tenant, id);
    const running = reads.get(key);
    if (running !== undefined) return running;
    const read = readNow(tenant, id).finally(() => reads.delete(key));
    reads.set(key, read);
    return read;
  }

  async function readNow(tenant: string, id: string): Promise<Session | null> {
    const key = recordKey(tenant, id);
    const text = await store.get(key);
    const record = text === null ? null : decodeRecord(text);
    if (record === null || timeLeft(record, limits(), clock.now()) <= 0) {
      cache.delete(key);
      return null;
    }
    return remember(id, record);
  }

  async function current(tenant: string, id: string): Promise<Session | null> {
    const hit = cache.get(recordKey(tenant, id));
    const fresh = hit !== undefined && clock.now() - hit.readAt < FRESH_MS;
    // On HTTP+SSE the next POST after `initialize` may land here before the hint: an unset revision is never believed.
    return fresh && hit.session.record.revision !== null ? hit.session : await load(tenant, id);
  }

  /** In the background of a request: nobody waits for it. */
  function renewSoon(session: Session): void {
    if (clock.now() - session.record.lastSeen < renewEveryMs() || renewing.has(session.id)) return;
    renewing.add(session.id);
    renew(session)
      .catch((error: unknown) => deps.failed('session renewal', error))
      .finally(() => renewing.delete(session.id));
  }

  async function renew(session: Session): Promise<Found['kind']> {
    const { record, id } = session;
    const now = clock.now();
    const key = recordKey(record.tenant, id);
    const left = timeLeft(record, limits(), now);
    if (left <= 0) return 'unknown';
    const next = { ...record, lastSeen: now };
    if (await store.compareAndSet(key, encodeRecord(record), encodeRecord(next), left)) {
      remember(id, next);
      return 'found';
    }
    cache.delete(key); // changed elsewhere, or gone
    return (await store.touch(key, left)) ? 'found' : 'unknown';
  }

  async function change(session: Session, patch: SessionPatch): Promise<Found> {
    const { tenant } = session.record;
    const key = recordKey(tenant, session.id);
    for (let i = 0; i < CAS_TRIES; i++) {
      const text = await store.get(key);
      const record = text === null ? null : decodeRecord(text);
      if (text === null || record === null) return { kind: 'unknown' };
      const now = clock.now();
      const next = { ...record, ...patch, lastSeen: now };
      const left = timeLeft(record, limits(), now);
      if (left <= 0) return { kind: 'unknown' };
      if (!(await store.compareAndSet(key, text, encodeRecord(next), left))) continue;
      const changed = remember(session.id, next);
      deps.hints.send({ kind: 'changed', tenant, id: session.id });
      return { kind: 'found', session: changed };
    }
    return { kind: 'unreadable' };
  }

  async function endById(tenant: string, id: string): Promise<void> {
    // Its record first: from then on nobody adds to the index.
    await store.delete(recordKey(tenant, id));
    const lists = [indexKey(tenant, id), fadingKey(tenant, id)];
    const own = await Promise.all(lists.map((key) => store.membersOf(key)));
    await Promise.all([...allKeys(tenant, id), ...own.flat()].map((key) => store.delete(key)));
    cache.delete(recordKey(tenant, id));
    deps.hints.send({ kind: 'ended', tenant, id });
  }

  async function endOwned(principal: Principal, id: string): Promise<void> {
    await endById(principal.tenant, id);
    await store.removeFromSet(ownedKey(principal), id);
  }

  /** What was written before a failure is not known. The id may be out already (protocol.md §3.3), and names nothing. */
  async function open(ticket: Authenticated, id: string, opening: Opening): Promise<Opened> {
    try {
      return await write(ticket, id, opening);
    } catch (error) {
      await endOwned(ticket.caller.principal, id).catch((again: unknown) => deps.failed('session end', again));
      throw error;
    }
  }

  async function write(ticket: Authenticated, id: string, opening: Opening): Promise<Opened> {
    const now = clock.now();
    const { principal } = ticket.caller;
    const { sessionIdleMs, sessionMaxMs, maxSessionsPerPrincipal } = limits();
    if (!(await owned.add(principal, id, maxSessionsPerPrincipal, sessionMaxMs))) return { kind: 'full' };
    const { tenant, issuer, subject, client } = principal;
    const record: SessionRecord = {
      ...{ tenant, issuer, subject, client, route: ticket.route.path },
      ...opening,
      ...{ logLevel: null, initialized: false, created: now, lastSeen: now },
    };
    await store.set(recordKey(tenant, id), encodeRecord(record), Math.min(sessionIdleMs, sessionMaxMs));
    return { kind: 'found', session: remember(id, record) };
  }

  return {
    renewEveryMs,
    mint: () => mintSessionId(deps.random),
    open: (ticket, id, opening) => orUnreadable(open(ticket, id, opening)),
    change: (session, patch) => orUnreadable(change(session, patch)),
    async renew(session) {
      return renew(session).catch(() => 'unreadable' as const);
    },
    async find(ticket, id) {
      if (!looksLikeSessionId(id)) return { kind: 'unknown' };
      try {
        const session = await current(ticket.route.tenant, id);
        if (session === null) return { kind: 'unknown' };
        if (!belongsTo(session.record, ticket)) {
          deps.foreign?.(ticket, id);
          return { kind: 'unknown' };
        }
        renewSoon(session);
        return { kind: 'found', session };
      } catch (error) {
        deps.failed('session read', error);
        return { kind: 'unreadable' };
      }
    },
    forget() {
      for (const [key, { readAt }] of cache) if (clock.now() - readAt >= FRESH_MS) cache.delete(key);
    },
    async end(session) {
      const { tenant, issuer, subject, client } = session.record;
      await endOwned({ tenant, issuer, subject, client }, session.id);
    },
  };

  async function orUnreadable<T>(work: Promise<T>): Promise<T | { readonly kind: 'unreadable' }> {
    try {
      return await work;
    } catch (error) {
      deps.failed('session write', error);
      return { kind: 'unreadable' };
    }
  }
}
