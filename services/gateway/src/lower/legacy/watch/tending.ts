// What a watch does by itself as long as it lasts: opens its audience, again when that fails, keeps its mark, follows what
// the store says of it, and rests when nobody needs it.

import type { Watch, WatchesDeps } from './contract.ts';
import type { Telling } from './telling.ts';

export interface Tending {
  /** `missed`: changes may have come before it was open. */
  openAudience(watch: Watch, missed: boolean): Promise<void>;
  keep(watch: Watch): void;
  restLater(watch: Watch): void;
  suspect(watch: Watch, replica: string): Promise<void>;
  recheck(watch: Watch): Promise<void>;
}

type TendingDeps = Pick<WatchesDeps, 'subscriptions' | 'presence' | 'clock' | 'keepMs' | 'failed'> & {
  readonly stop: (watch: Watch) => void;
};

const REOPEN_MS = 15_000;
/** So long a session without a stream and without subscriptions is listened for. */
const REST_MS = 60_000;
/** A little longer than a replica's beat lives (session/presence.ts). */
const BEAT_LIFE_MS = 7_000;

export function createTending(deps: TendingDeps, { say, gap }: Pick<Telling, 'say' | 'gap'>): Tending {
  const { subscriptions, presence, clock, failed, stop } = deps;

  async function openAudience(watch: Watch, missed: boolean): Promise<void> {
    const opened = await watch.audience.open();
    if (watch.over) return;
    // Its server cannot be had: tried again, and then nobody knows what was missed.
    if (opened.kind === 'fault') return later(watch, REOPEN_MS, () => void openAudience(watch, true));
    if (missed) gap(watch);
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

  async function recheck(watch: Watch): Promise<void> {
    const now = await subscriptions.watcher(watch.session);
    if (now?.token !== watch.mark.token) stop(watch);
    else await follow(watch, false);
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

  function later(watch: Watch, ms: number, run: () => void): void {
    const timer = clock.setTimer(ms, () => {
      watch.timers.delete(timer);
      if (!watch.over) run();
    });
    timer.unref?.();
    watch.timers.add(timer);
  }

  return { openAudience, keep, restLater, suspect, recheck };
}
