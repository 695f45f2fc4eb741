// Who listens for a legacy session, and how it is told (protocol.md §5.3 "list_changed", "resources/subscribe", §5.8 #25):
// one replica at a time, that which holds its stream, else the last one that served it. Changes go out on one stream;
// with none open each kind is kept once and told when one opens. A replica that died while it listened leaves a gap,
// and whoever comes after it calls everything changed.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import { LRUCache } from 'lru-cache';
import type { Refusal } from '../../errors.ts';
import type { Authenticated, Exchange } from '../../exchange.ts';
import type { Audience, Ears } from '../../listen/audience.ts';
import { LIST_KINDS, type News, type Wanted } from '../../listen/contract.ts';
import { refusalOf } from '../../route/refuse.ts';
import type { Hints } from '../../session/hints.ts';
import type { Random } from '../../session/id.ts';
import type { Presence } from '../../session/presence.ts';
import type { Session } from '../../session/record.ts';
import { exchangeOf } from './forward.ts';
import { callerOf } from './gate.ts';
import { newsText } from './news-text.ts';
import { RESTING, type Subscriptions, type Watcher } from './subscriptions.ts';

export type MakeAudience = (exchange: Exchange, wanted: Wanted, ears: Ears) => Audience;

export interface WatchesDeps {
  readonly subscriptions: Subscriptions;
  readonly audience: MakeAudience;
  readonly presence: Pick<Presence, 'self' | 'alive'>;
  readonly hints: Pick<Hints, 'on' | 'send'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly keepMs: () => number;
  /** To one stream of the session. False: there is none that is held here. */
  readonly tell: (session: Session, text: string, name: string) => Promise<boolean>;
  readonly failed: (what: string, error: unknown) => void;
}

export interface Watches {
  /** The session has begun, or was seen: somebody must listen for it. */
  seen(session: Session, ticket: Authenticated): void;
  /** A stream of it is open here. Returns the way to say that it is not any more. */
  opened(session: Session, ticket: Authenticated): () => void;
  /** Null: subscribed. */
  subscribe(session: Session, ticket: Authenticated, uri: string): Promise<Refusal | null>;
  unsubscribe(session: Session, uri: string): Promise<void>;
  ended(session: Pick<Session, 'id'>): void;
  reload(snapshot: Authenticated['snapshot']): void;
  close(): void;
}

interface Watch {
  readonly session: Session;
  readonly audience: Audience;
  ticket: Authenticated;
  mark: Watcher;
  /** URIs that are asked for now: the store does not know them yet. */
  readonly adding: Set<string>;
  /** Tellings, one after another. */
  turn: Promise<void>;
  timers: Set<Timer>;
  /** Streams of it that are open here. */
  streams: number;
  over: boolean;
}

const CHECK_EVERY_MS = 30_000;
const MAX_CHECKED = 50_000;
const REOPEN_MS = 15_000;
/** So long a session without a stream and without subscriptions is listened for. */
const REST_MS = 60_000;
/** Until the replica that listens has heard of it. */
const OVERLAP_MS = 5_000;
/** A little longer than a replica's beat lives (session/presence.ts). */
const BEAT_LIFE_MS = 7_000;
const LISTS: ReadonlySet<(typeof LIST_KINDS)[number]> = new Set(LIST_KINDS);

export function createWatches(deps: WatchesDeps): Watches {
  const { subscriptions, clock, presence, failed } = deps;
  const here = new Map<string, Watch>();
  const starting = new Map<string, Promise<Watch | null>>();
  const checked = new LRUCache<string, true>({ max: MAX_CHECKED, ttl: CHECK_EVERY_MS });
  let count = 0;
  let closed = false;

  deps.hints.on((hint) => {
    const watch = here.get(hint.id);
    if (watch === undefined) return;
    if (hint.kind === 'ended') stop(watch);
    else if (hint.kind === 'changed') recheck(watch).catch((error: unknown) => failed('subscriptions', error));
  });

  function stop(watch: Watch): void {
    if (watch.over) return;
    watch.over = true;
    if (here.get(watch.session.id) === watch) here.delete(watch.session.id);
    for (const timer of watch.timers) timer.clear();
    watch.audience.close();
  }

  /** Takes the watch over from whoever has it. */
  async function take(session: Session, ticket: Authenticated, stream: boolean): Promise<Watch | null> {
    const before = await subscriptions.watcher(session);
    const other = before !== null && before.replica !== presence.self ? before.replica : null;
    const token = Buffer.from(deps.random(9)).toString('base64url');
    const mark: Watcher = { replica: presence.self, token, stream };
    await subscriptions.watch(session, mark);
    if (other !== null) announce(session);
    if (closed) return null;
    const known = here.get(session.id);
    if (known !== undefined) {
      known.mark = mark;
      known.ticket = ticket;
      if (other !== null) await suspect(known, other);
      return known;
    }
    const uris = await subscriptions.all(session);
    const watch = make(session, ticket, mark, new Set(uris));
    here.set(session.id, watch);
    await openAudience(watch, false);
    if (other !== null) await suspect(watch, other);
    keep(watch);
    restLater(watch);
    return watch;
  }

  /** Whoever listened before may have died with something to tell; that is known for certain only a little later. */
  async function suspect(watch: Watch, replica: string): Promise<void> {
    if (!(await presence.alive(replica))) return gap(watch);
    later(watch, BEAT_LIFE_MS, () => {
      presence
        .alive(replica)
        .then((alive) => {
          if (!alive) gap(watch);
        })
        .catch((error: unknown) => failed('session watch', error));
    });
  }

  function gap(watch: Watch): void {
    const { lists, uris } = watch.audience.told;
    for (const list of lists) say(watch, { kind: 'list', list });
    for (const uri of uris) say(watch, { kind: 'updated', uri });
  }

  /** Other replicas look again at what the store says of it. */
  function announce({ id, record }: Session): void {
    deps.hints.send({ kind: 'changed', tenant: record.tenant, id });
  }

  async function recheck(watch: Watch): Promise<void> {
    const now = await subscriptions.watcher(watch.session);
    if (now?.token !== watch.mark.token) stop(watch);
    else await follow(watch, false);
  }

  function make(session: Session, ticket: Authenticated, mark: Watcher, uris: ReadonlySet<string>): Watch {
    const exchange = exchangeOf({ ticket, caller: callerOf(session), xid: ticket.xid }, {}, NEVER);
    const audience = deps.audience(
      exchange,
      { lists: LISTS, uris },
      {
        hear: (news) => say(watch, news),
        revoked: (what) => forget(watch, what),
        gone: () => stop(watch),
      },
    );
    const watch: Watch = {
      ...{ session, audience, ticket, mark, adding: new Set<string>() },
      ...{ turn: Promise.resolve(), timers: new Set(), streams: 0, over: false },
    };
    return watch;
  }

  async function openAudience(watch: Watch, missed: boolean): Promise<void> {
    const opened = await watch.audience.open();
    if (watch.over) return;
    // Its server cannot be had: tried again, and then nobody knows what was missed.
    if (opened.kind === 'fault') return later(watch, REOPEN_MS, () => void openAudience(watch, true));
    if (missed) gap(watch);
  }

  function later(watch: Watch, ms: number, run: () => void): void {
    const timer = clock.setTimer(ms, () => {
      watch.timers.delete(timer);
      if (!watch.over) run();
    });
    timer.unref?.();
    watch.timers.add(timer);
  }

  /** The mark must outlive the session's idle time; the session's end is noticed even if its hint is lost. */
  function keep(watch: Watch): void {
    later(watch, deps.keepMs(), () => {
      subscriptions
        .keepWatch(watch.session, watch.mark)
        .then(
          async (mine) => {
            if (!mine) stop(watch);
            else await follow(watch, true);
          },
          (error: unknown) => failed('session watch', error),
        )
        .finally(() => {
          if (!watch.over) keep(watch);
        })
        .catch((error: unknown) => failed('session watch', error));
    });
  }

  /**
   * Thousands of sessions whose clients only call, or are gone, hold nothing here: what changes meanwhile is one word a list
   * when a stream opens, as after a replica's death (`suspect` of one that is no replica).
   */
  function restLater(watch: Watch): void {
    later(watch, REST_MS, () => {
      if (watch.streams > 0 || watch.session.record.transport === 'sse') return;
      if (watch.adding.size > 0 || watch.audience.told.uris.size > 0) return restLater(watch);
      subscriptions
        .rest(watch.session, watch.mark)
        .then((rests) => {
          if (rests) stop(watch);
        })
        .catch((error: unknown) => failed('session watch', error));
    });
  }

  /** What another replica has subscribed to. Found late, its changes may have been missed. */
  async function follow(watch: Watch, late: boolean): Promise<void> {
    const adding = new Set(watch.adding);
    const all = new Set(await subscriptions.all(watch.session));
    const told = watch.audience.told.uris;
    for (const uri of told) {
      if (!all.has(uri) && !adding.has(uri) && !watch.adding.has(uri)) watch.audience.drop(uri);
    }
    for (const uri of all) {
      if (told.has(uri) || watch.over) continue;
      const added = await watch.audience.add(uri);
      if (added === 'told' && late) say(watch, { kind: 'updated', uri });
    }
  }

  function forget(watch: Watch, uri: string): void {
    watch.audience.drop(uri);
    subscriptions.remove(watch.session, uri).catch((error: unknown) => failed('subscription', error));
  }

  function say(watch: Watch, news: News): void {
    if (watch.over) return;
    watch.turn = watch.turn.then(() => tell(watch, news)).catch((error: unknown) => failed('session news', error));
  }

  async function tell(watch: Watch, news: News): Promise<void> {
    const { session } = watch;
    const now = await subscriptions.watcher(session).catch(() => watch.mark);
    // Another has it, and hears this as we do (design §4 "fencing").
    if (now?.token !== watch.mark.token) return stop(watch);
    const name = `news ${presence.self} ${++count}`;
    const told = !expired(watch.ticket) && (await deps.tell(session, newsText(news), name).catch(() => false));
    if (!told) await subscriptions.hold(session, news);
  }

  function flush(watch: Watch): void {
    watch.turn = watch.turn
      .then(async () => {
        for (const news of await subscriptions.takeHeld(watch.session)) await tell(watch, news);
      })
      .catch((error: unknown) => failed('session news', error));
  }

  function expired({ caller }: Authenticated): boolean {
    return caller.expiresAt !== null && clock.now() >= caller.expiresAt;
  }

  /** One start at a time for a session. */
  function started(session: Session, work: () => Promise<Watch | null>): Promise<Watch | null> {
    const before = starting.get(session.id) ?? Promise.resolve(null);
    const next = before.then(work).catch((error: unknown) => {
      failed('session watch', error);
      return null;
    });
    const done = next.finally(() => {
      if (starting.get(session.id) === done) starting.delete(session.id);
    });
    starting.set(session.id, done);
    return done;
  }

  /** Where somebody else listens and is alive, nothing is done; nor for one that rests, unless something is wanted. */
  async function ensure(session: Session, ticket: Authenticated, wanted: boolean): Promise<Watch | null> {
    const known = here.get(session.id);
    if (known !== undefined) return known;
    const before = await subscriptions.watcher(session);
    if (before?.replica === RESTING && !wanted) {
      await subscriptions.keepWatch(session, before);
      return null;
    }
    if (before !== null && before.replica !== presence.self && (await presence.alive(before.replica))) return null;
    return take(session, ticket, session.record.transport === 'sse');
  }

  async function subscribe(
    watch: Watch | null,
    session: Session,
    ticket: Authenticated,
    uri: string,
  ): Promise<Refusal | null> {
    let refusal = watch === null ? null : await addHere(watch, ticket, uri);
    // Another replica has it, or has taken it just now; it hears of the URI when that has been found good here.
    if (watch === null || watch.over) {
      const temporary = make(session, ticket, NOBODY, new Set());
      refusal = await addHere(temporary, ticket, uri);
      temporary.timers.add(clock.setTimer(OVERLAP_MS, () => stop(temporary)));
    }
    if (refusal !== null) return refusal;
    if (!(await subscriptions.add(session, uri))) {
      watch?.audience.drop(uri);
      return { reason: 'too-many', message: 'This session has as many subscriptions as it may have.' };
    }
    announce(session);
    return null;
  }

  async function addHere(watch: Watch, ticket: Authenticated, uri: string): Promise<Refusal | null> {
    const added = await watch.audience.add(uri);
    if (added === 'told') return null;
    if (added === 'unsupported') return { reason: 'unknown-method' };
    if (added === 'refused') return REFUSED;
    const exchange = exchangeOf({ ticket, caller: callerOf(watch.session), xid: ticket.xid }, {}, NEVER);
    return refusalOf(added.fault, added.spec, null, exchange, NO_ASK);
  }

  return {
    seen(session, ticket) {
      if (closed || session.record.revision === null) return;
      const watch = here.get(session.id);
      if (watch !== undefined) {
        const was = expired(watch.ticket);
        if ((ticket.caller.expiresAt ?? 0) > (watch.ticket.caller.expiresAt ?? 0)) watch.ticket = ticket;
        if (was && !expired(watch.ticket)) flush(watch);
        return;
      }
      if (checked.has(session.id)) return;
      checked.set(session.id, true);
      void started(session, () => ensure(session, ticket, false));
    },
    opened(session, ticket) {
      let left = false;
      let mine: Watch | null = null;
      void started(session, async () => {
        if (left || closed) return null;
        const watch = await take(session, ticket, true);
        if (watch !== null && !left) {
          mine = watch;
          watch.streams += 1;
        }
        if (watch !== null) flush(watch);
        return watch;
      });
      return () => {
        left = true;
        if (mine === null) return;
        mine.streams -= 1;
        restLater(mine);
        mine = null;
      };
    },
    async subscribe(session, ticket, uri) {
      const watch = await started(session, () => ensure(session, ticket, true));
      // Meanwhile a look at the store must not take it for one that was let go elsewhere.
      watch?.adding.add(uri);
      try {
        return await subscribe(watch, session, ticket, uri);
      } finally {
        watch?.adding.delete(uri);
      }
    },
    async unsubscribe(session, uri) {
      await subscriptions.remove(session, uri);
      here.get(session.id)?.audience.drop(uri);
      announce(session);
    },
    ended({ id }) {
      const watch = here.get(id);
      if (watch !== undefined) stop(watch);
    },
    reload(snapshot) {
      for (const { audience } of [...here.values()]) audience.reload(snapshot);
    },
    close() {
      closed = true;
      for (const watch of [...here.values()]) stop(watch);
    },
  };
}

const NEVER: AbortSignal = new AbortController().signal;
const NOBODY: Watcher = { replica: '', token: '', stream: false };
const NO_ASK = { method: 'resources/subscribe', bytes: new Uint8Array(0), params: [], progress: false } as const;
const REFUSED: Refusal = { reason: 'invalid-params', message: 'This resource cannot be subscribed to.' };
