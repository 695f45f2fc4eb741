// What the store keeps of a session's subscriptions, so that every replica knows them and none of it dies with one
// (protocol.md §3.3, §5.3): the URIs, the changes that nobody could be told yet, and which replica listens for it.

import type { Store } from '@lockkeeper/state/store';
import type { News } from '../../listen/contract.ts';
import { pendingKey, recordKey, subscriptionsKey, watchKey } from '../../session/keys.ts';
import type { Session } from '../../session/record.ts';

/** Who listens for a session. */
export interface Watcher {
  readonly replica: string;
  readonly token: string;
  /** It can tell the client at once. */
  readonly stream: boolean;
}

/** The replica in the mark of a session that nobody listens for. */
export const RESTING = 'resting';

export interface Subscriptions {
  /** False: the session has as many as it may have. */
  add(session: Session, uri: string): Promise<boolean>;
  remove(session: Session, uri: string): Promise<void>;
  all(session: Session): Promise<string[]>;
  /** One word per kind and URI, however often it is said. */
  hold(session: Session, news: News): Promise<void>;
  takeHeld(session: Session): Promise<News[]>;
  watcher(session: Session): Promise<Watcher | null>;
  watch(session: Session, watcher: Watcher): Promise<void>;
  /** False: another has taken it, or the session has ended. */
  keepWatch(session: Session, watcher: Watcher): Promise<boolean>;
  /** Nobody listens from now on, and it shows; false: another has taken it. */
  rest(session: Session, watcher: Watcher): Promise<boolean>;
}

const MAX_PER_SESSION = 1024;
/** Beyond it a client that comes back is told less, and reads its resources anew anyway. */
const MAX_HELD = 1100;

export function createSubscriptions(store: Store, ttlMs: () => number): Subscriptions {
  const keyed = (make: typeof pendingKey) => (session: Session) => make(session.record.tenant, session.id);
  const [uris, held, watched, record] = [subscriptionsKey, pendingKey, watchKey, recordKey].map(keyed) as [
    (session: Session) => string,
    (session: Session) => string,
    (session: Session) => string,
    (session: Session) => string,
  ];
  /** They live as long as somebody listens for the session, and end by themselves a while after it. */
  const keep = async (session: Session): Promise<void> => {
    await Promise.all([uris, held].map((keyFor) => store.touch(keyFor(session), ttlMs())));
  };
  return {
    async add(session, uri) {
      return (await store.addToSet(uris(session), uri, MAX_PER_SESSION, ttlMs())) !== 'full';
    },
    async remove(session, uri) {
      await store.removeFromSet(uris(session), uri);
    },
    all: (session) => store.membersOf(uris(session)),
    async hold(session, news) {
      await store.addToSet(held(session), encodeNews(news), MAX_HELD, ttlMs());
    },
    async takeHeld(session) {
      const found: News[] = [];
      for (const member of await store.membersOf(held(session))) {
        // Whoever takes it out tells it: nobody else does.
        if (await store.removeFromSet(held(session), member)) found.push(decodeNews(member));
      }
      return found;
    },
    async watcher(session) {
      const text = await store.get(watched(session));
      return text === null ? null : (JSON.parse(text) as Watcher);
    },
    async watch(session, watcher) {
      await Promise.all([store.set(watched(session), JSON.stringify(watcher), ttlMs()), keep(session)]);
    },
    async keepWatch(session, watcher) {
      if ((await store.get(record(session))) === null) return false;
      const [mine] = await Promise.all([
        store.compareAndTouch(watched(session), JSON.stringify(watcher), ttlMs()),
        keep(session),
      ]);
      return mine;
    },
    rest(session, watcher) {
      const resting: Watcher = { ...watcher, replica: RESTING, stream: false };
      return store.compareAndSet(watched(session), JSON.stringify(watcher), JSON.stringify(resting), ttlMs());
    },
  };
}

function encodeNews(news: News): string {
  return news.kind === 'list' ? `list ${news.list}` : `updated ${news.uri}`;
}

function decodeNews(text: string): News {
  const at = text.indexOf(' ');
  const rest = text.slice(at + 1);
  if (text.slice(0, at) === 'updated') return { kind: 'updated', uri: rest };
  return { kind: 'list', list: rest === 'prompts' || rest === 'resources' ? rest : 'tools' };
}
