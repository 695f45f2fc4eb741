// How a session is told of changes: one after another, by whoever holds the mark; with no stream open each kind is kept
// once and told when one opens (protocol.md §5.8 #25).

import type { Authenticated } from '../../../exchange.ts';
import type { News } from '../../../listen/contract.ts';
import { newsText } from '../news-text.ts';
import type { Watch, WatchesDeps } from './contract.ts';

export interface Telling {
  say(watch: Watch, news: News): void;
  /** What was missed is not known: everything may have changed. */
  gap(watch: Watch): void;
  /** What was kept while no stream was open. */
  flush(watch: Watch): void;
  expired(ticket: Authenticated): boolean;
}

type TellingDeps = Pick<WatchesDeps, 'subscriptions' | 'presence' | 'clock' | 'tell' | 'failed'> & {
  readonly stop: (watch: Watch) => void;
};

export function createTelling(deps: TellingDeps): Telling {
  const { subscriptions, presence, clock, failed, stop } = deps;
  let count = 0;

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

  function gap(watch: Watch): void {
    const { lists, uris } = watch.audience.told;
    for (const list of lists) say(watch, { kind: 'list', list });
    for (const uri of uris) say(watch, { kind: 'updated', uri });
  }

  return { say, gap, flush, expired };
}
