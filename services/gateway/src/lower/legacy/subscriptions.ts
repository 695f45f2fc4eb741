// resources/subscribe and unsubscribe of a legacy session: asked of the server, then kept beside the session so that
// every replica knows them. PLACE for delivery: a listen per upstream whose `updated` and `list_changed` events go to
// one standalone stream of the session, or wait coalesced for one (protocol.md §5.3, §5.8 #25).

import type { Store } from '@lockkeeper/state/store';
import { subscriptionsKey } from '../../session/keys.ts';
import type { Session } from '../../session/record.ts';

export interface Subscriptions {
  /** False: the session has as many as it may have. */
  add(session: Session, uri: string): Promise<boolean>;
  remove(session: Session, uri: string): Promise<void>;
}

const MAX_PER_SESSION = 1024;

export function createSubscriptions(store: Store, ttlMs: () => number): Subscriptions {
  const key = (session: Session) => subscriptionsKey(session.record.tenant, session.id);
  return {
    async add(session, uri) {
      return (await store.addToSet(key(session), uri, MAX_PER_SESSION, ttlMs())) !== 'full';
    },
    async remove(session, uri) {
      await store.removeFromSet(key(session), uri);
    },
  };
}
