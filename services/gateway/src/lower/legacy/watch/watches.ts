// Who listens for a legacy session, and how it is told (protocol.md §5.3 "list_changed", "resources/subscribe", §5.8 #25):
// one replica at a time, that which holds its stream, else the last one that served it. Changes go out on one stream;
// with none open each kind is kept once and told when one opens. A replica that died while it listened leaves a gap,
// and whoever comes after it calls everything changed.

import { LRUCache } from 'lru-cache';
import type { Authenticated } from '../../../exchange.ts';
import { LIST_KINDS } from '../../../listen/contract.ts';
import type { Session } from '../../../session/record.ts';
import { exchangeOf } from '../forward.ts';
import { callerOf } from '../gate.ts';
import { RESTING, type Watcher } from '../subscriptions.ts';
import type { Watch, Watches, WatchesDeps } from './contract.ts';
import { createSubscribe } from './subscribe.ts';
import { createTelling } from './telling.ts';
import { createTending } from './tending.ts';

const CHECK_EVERY_MS = 30_000;
const MAX_CHECKED = 50_000;
const LISTS: ReadonlySet<(typeof LIST_KINDS)[number]> = new Set(LIST_KINDS);

export function createWatches(deps: WatchesDeps): Watches {
  const { subscriptions, clock, presence, failed } = deps;
  const here = new Map<string, Watch>();
  const starting = new Map<string, Promise<Watch | null>>();
  const checked = new LRUCache<string, true>({ max: MAX_CHECKED, ttl: CHECK_EVERY_MS });
  let closed = false;
  const telling = createTelling({ ...deps, stop });
  const { say, flush, expired } = telling;
  const { openAudience, keep, restLater, suspect, recheck } = createTending({ ...deps, stop }, telling);
  const unknown = (session: Session, ticket: Authenticated) => make(session, ticket, NOBODY, new Set());
  const subscribe = createSubscribe({ subscriptions, clock, make: unknown, stop, announce });

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

  /** Other replicas look again at what the store says of it. */
  function announce({ id, record }: Session): void {
    deps.hints.send({ kind: 'changed', tenant: record.tenant, id });
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

  function forget(watch: Watch, uri: string): void {
    watch.audience.drop(uri);
    subscriptions.remove(watch.session, uri).catch((error: unknown) => failed('subscription', error));
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
