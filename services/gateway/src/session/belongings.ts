// Keys of a session that have names of their own (streams, calls, wire requests): written with an end, and listed in
// the session's index, so that its end removes them, too. Whoever works on one renews it; what nobody renews ends.

import type { Store } from '@lockkeeper/state/store';
import { fadingKey, indexKey } from './keys.ts';
import type { Session } from './record.ts';

export interface Belongings {
  set(session: Session, key: string, value: string): Promise<void>;
  /** For a key that is written otherwise. */
  list(session: Session, key: string): Promise<void>;
  renew(session: Session, keys: readonly string[]): Promise<void>;
  /** It may be needed for a moment yet. */
  fade(session: Session, keys: readonly string[]): Promise<void>;
  remove(session: Session, key: string): Promise<void>;
  /** How long a person may take, and how long a call may go on with nobody renewing what is kept of it. */
  lifeMs(): number;
}

/** Below any life of a key. */
export const RENEW_EVERY_MS = 60_000;
/** A client that has lost its connection at the very end comes back within this. */
const FADE_MS = 5 * 60_000;
/** Beyond it keys still end by themselves. */
const INDEX_CAP = 8192;
const FADING_CAP = 1024;

export function createBelongings(store: Store, lifeMs: () => number): Belongings {
  const indexOf = (session: Session) => indexKey(session.record.tenant, session.id);

  async function list(session: Session, key: string): Promise<void> {
    await store.addToSet(indexOf(session), key, INDEX_CAP, lifeMs());
  }

  /** The session's end takes it away at once. */
  async function noteFading(session: Session, key: string): Promise<void> {
    const fading = fadingKey(session.record.tenant, session.id);
    if ((await store.addToSet(fading, key, FADING_CAP, FADE_MS)) !== 'full') return;
    // Mostly names of keys that are gone by now.
    await store.delete(fading);
    await store.addToSet(fading, key, FADING_CAP, FADE_MS);
  }

  return {
    list,
    lifeMs,
    async set(session, key, value) {
      await Promise.all([store.set(key, value, lifeMs()), list(session, key)]);
    },
    async renew(session, keys) {
      await Promise.all([...keys, indexOf(session)].map((key) => store.touch(key, lifeMs())));
    },
    async fade(session, keys) {
      await Promise.all(
        keys.flatMap((key) => [
          store.touch(key, FADE_MS),
          store.removeFromSet(indexOf(session), key),
          noteFading(session, key),
        ]),
      );
    },
    async remove(session, key) {
      await Promise.all([store.delete(key), store.removeFromSet(indexOf(session), key)]);
    },
  };
}
