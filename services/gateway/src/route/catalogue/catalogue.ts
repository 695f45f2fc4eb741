// Lists and profiles of servers, per authorization context (protocol.md §2.10): loaded through the link, whole, by one
// flight, and kept. How old a list may be depends on what it is for, and each purpose has its function here.

import type { Limits } from '@lockkeeper/protocol/config/settings';
import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../exchange.ts';
import type { Link } from '../../link/contract.ts';
import type { CallFault, RouteDeps, Upstream } from '../contract.ts';
import { linkRequest } from '../upstream.ts';
import { LISTS, type List, type ListKind, parseList } from './items.ts';
import { createKept, type Entry, type Good, type KeptKey, keptKey, type Outcome, type Source } from './kept.ts';
import { parseProfile, type ServerProfile } from './profile.ts';

export interface Catalogue {
  /** What the server declares, for showing it: good for `limits.listTtlMs`. */
  profile(exchange: Exchange, up: Upstream): Promise<Outcome<ServerProfile>>;
  /** For judging a call: the known one, however old; an old one is renewed behind its back, so no warm call waits. */
  knownProfile(exchange: Exchange, up: Upstream): Outcome<ServerProfile> | Promise<Outcome<ServerProfile>>;
  /** For a list shown to a client: within its ttl. */
  list(exchange: Exchange, up: Upstream, profile: ServerProfile, kind: ListKind): Promise<Outcome<List>>;
  /** For the next page: the very version the cursor names if it is still around, else as `list`. */
  page(
    exchange: Exchange,
    up: Upstream,
    profile: ServerProfile,
    kind: ListKind,
    version: string,
  ): Promise<Outcome<List>>;
  /** For resolving names: of any age, since a name means the same for ever. */
  table(
    exchange: Exchange,
    up: Upstream,
    profile: ServerProfile,
    kind: ListKind,
  ): Outcome<List> | Promise<Outcome<List>>;
  /** For checking Mcp-Param-*: its ttl or a few seconds. */
  near(exchange: Exchange, up: Upstream, profile: ServerProfile): Outcome<List> | Promise<Outcome<List>>;
  /** When something did not fit: loaded just now. */
  anew(exchange: Exchange, up: Upstream, profile: ServerProfile, kind: ListKind): Promise<Outcome<List>>;
  /** The server has said that its lists of this kind have changed, or may have. */
  stale(owner: string, kind: ListKind): void;
  /** The last good one in this process, of any age. */
  last(up: Upstream, kind: ListKind): Entry<List> | undefined;
  /** How much longer a client may keep it. */
  timeLeft(entry: Entry<{ readonly ttlMs: number }>, limits: Limits): number;
  /** Lets go of what was not used since it was last asked. */
  forget(): void;
}

const NEAR_MS = 5000;
const JUST_NOW_MS = 2000;
const MAX_SAID = 2000;
const LIST_BYTES = 128 * 1024 * 1024;
const PROFILE_BYTES = 16 * 1024 * 1024;
const NO_BYTES = new Uint8Array(0);

export function createCatalogue(deps: RouteDeps): Catalogue {
  const { store, clock, observer, log } = deps;
  const loaded = (kind: string, source: 'store' | 'link' | 'fault') => observer?.catalogue?.(kind, source);
  /** What has been said once of a server is not said again at each of its lists. */
  const said = new LRUCache<string, true>({ max: MAX_SAID });
  const lists = createKept<List>({ store, clock, maxBytes: LIST_BYTES, loaded });
  const profiles = createKept<ServerProfile>({ store, clock, maxBytes: PROFILE_BYTES, loaded });

  function load(exchange: Exchange, up: Upstream, profile: ServerProfile, kind: ListKind, good: Good<List>) {
    // A legacy server's annotations are stripped by the node (protocol.md §5.2); a modern one's are compiled.
    const annotated = profile.era === 'modern';
    const withheld = (name: string, why: string) => {
      const reason = `${kind} ${JSON.stringify(name.slice(0, 128))}: ${why}`;
      const { name: server, tenant, digest } = up.spec;
      const id = `${digest}\n${reason}`;
      if (said.has(id)) return;
      said.set(id, true);
      log.warn({ server, tenant, reason }, 'a list item is withheld');
    };
    return lists.load(keyOf(up, kind), good, source(deps, exchange, up, LISTS[kind].method), (raw) => {
      const list = parseList(kind, raw.members, raw.meta, annotated, withheld);
      if (list !== null && list.ttlMs > 0) deps.follow?.(exchange, up);
      return list;
    });
  }

  const goodProfile = (exchange: Exchange): Good<ServerProfile> => {
    const good = Math.max(exchange.snapshot.limits.listTtlMs, NEAR_MS);
    return (entry, now) => now - entry.loadedAt < good;
  };

  function loadProfile(exchange: Exchange, up: Upstream): Promise<Outcome<ServerProfile>> {
    const asked = source(deps, exchange, up, 'server/discover');
    return profiles.load(keyOf(up, 'profile'), goodProfile(exchange), asked, (raw) =>
      parseProfile(raw.members, raw.meta),
    );
  }

  const fresh = (exchange: Exchange, up: Upstream, kind: ListKind): Good<List> => {
    const { listTtlMs } = exchange.snapshot.limits;
    const current = stillTrue(up, kind);
    return (entry, now) => current(entry) && now - entry.loadedAt < Math.min(entry.value.ttlMs, listTtlMs);
  };
  /** Nothing was said of a change since (GB-069). */
  const stillTrue = (up: Upstream, kind: ListKind): ((entry: Entry<List>) => boolean) => {
    const staleAt = lists.staleAt(keyOf(up, kind));
    return (entry) => entry.loadedAt > staleAt;
  };

  return {
    profile: loadProfile,
    knownProfile(exchange, up) {
      const entry = profiles.peek(keyOf(up, 'profile'));
      if (entry === undefined) return loadProfile(exchange, up);
      if (!goodProfile(exchange)(entry, clock.now())) void loadProfile(exchange, up);
      return { kind: 'kept', entry };
    },
    list: (exchange, up, profile, kind) => load(exchange, up, profile, kind, fresh(exchange, up, kind)),
    page(exchange, up, profile, kind, version) {
      const ok = fresh(exchange, up, kind);
      return load(exchange, up, profile, kind, (entry, now) => entry.value.version === version || ok(entry, now));
    },
    table(exchange, up, profile, kind) {
      const entry = lists.peek(keyOf(up, kind));
      const current = stillTrue(up, kind);
      if (entry !== undefined && current(entry)) return { kind: 'kept', entry };
      const loading = load(exchange, up, profile, kind, current);
      if (entry === undefined) return loading;
      return loading.then((outcome) => (outcome.kind === 'kept' ? outcome : { kind: 'kept', entry }));
    },
    near(exchange, up, profile) {
      const { listTtlMs } = exchange.snapshot.limits;
      const staleAt = lists.staleAt(keyOf(up, 'tools'));
      const good: Good<List> = ({ loadedAt, value }, now) =>
        loadedAt > staleAt && now - loadedAt < Math.max(NEAR_MS, Math.min(value.ttlMs, listTtlMs));
      const entry = lists.peek(keyOf(up, 'tools'));
      if (entry !== undefined && good(entry, clock.now())) return { kind: 'kept', entry };
      return load(exchange, up, profile, 'tools', good);
    },
    anew(exchange, up, profile, kind) {
      const since = clock.now() - JUST_NOW_MS;
      return load(exchange, up, profile, kind, (entry) => entry.loadedAt >= since);
    },
    stale: (owner, kind) => lists.stale(kind, owner),
    last: (up, kind) => lists.peek(keyOf(up, kind)),
    forget() {
      lists.forget();
      profiles.forget();
    },
    timeLeft: (entry, limits) =>
      Math.max(0, Math.min(entry.value.ttlMs, limits.listTtlMs) - Math.max(0, clock.now() - entry.loadedAt)),
  };
}

/** Per upstream, since one serves many calls (route/room.ts `reach`). */
const keys = new WeakMap<Upstream, Map<string, KeptKey>>();

function keyOf(up: Upstream, kind: string): KeptKey {
  let mine = keys.get(up);
  if (mine === undefined) {
    mine = new Map();
    keys.set(up, mine);
  }
  let key = mine.get(kind);
  if (key === undefined) {
    key = keptKey(up.spec.tenant, kind, up.context);
    mine.set(kind, key);
  }
  return key;
}

/** One request of the gateway's own. It belongs to all who wait for it, so no single caller's leaving ends it. */
function source(
  deps: Pick<RouteDeps, 'link' | 'clock' | 'newXid'>,
  exchange: Exchange,
  up: Upstream,
  method: string,
): Source {
  return async () => {
    const { spec } = up;
    const end = new AbortController();
    const most = spec.startTimeoutMs + spec.callTimeoutMs + exchange.snapshot.limits.queueMs;
    const timer = deps.clock.setTimer(most, () => end.abort());
    try {
      return await ask(deps.link, exchange, up, deps.newXid(), method, end.signal);
    } finally {
      timer.clear();
    }
  };
}

async function ask(
  link: Pick<Link, 'call'>,
  exchange: Exchange,
  up: Upstream,
  xid: string,
  method: string,
  signal: AbortSignal,
) {
  const request = linkRequest(exchange, up, xid, { method, body: NO_BYTES, safe: true });
  const answer = await link.call(request, SILENT, signal);
  // Whoever waits for it has not had anything run yet, whatever the server did with a list.
  const failed = (fault: CallFault) => ({ kind: 'fault', fault: { ...fault, mayHaveRun: false, from: xid } }) as const;
  if (answer.kind === 'fault') {
    return failed(answer.fault.reason === 'cancelled' ? { ...answer.fault, reason: 'timeout' } : answer.fault);
  }
  if (answer.head.resultType !== 'complete') return failed(notComplete(answer.head.resultType));
  const { meta } = answer.head;
  // A copy: it is kept, and the chunk it came in may be larger.
  const members = copyOf(answer.body);
  return { kind: 'raw', raw: meta === undefined ? { members } : { members, meta } } as const;
}

/** Lists are never answered by a question or a task (protocol.md §2.8 #1). */
export function notComplete(resultType: string): CallFault {
  const message = `a result of type "${resultType.slice(0, 40)}" is not possible here`;
  return { reason: 'protocol', code: -32603, message, mayHaveRun: true };
}

const SILENT = { event: () => {} };
