// Who listens for a legacy session, as the rest of the leg and the files beside this one see it.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Refusal } from '../../../errors.ts';
import type { Authenticated, Exchange } from '../../../exchange.ts';
import type { Audience, Ears } from '../../../listen/audience.ts';
import type { Wanted } from '../../../listen/contract.ts';
import type { Hints } from '../../../session/hints.ts';
import type { Random } from '../../../session/id.ts';
import type { Presence } from '../../../session/presence.ts';
import type { Session } from '../../../session/record.ts';
import type { Subscriptions, Watcher } from '../subscriptions.ts';

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

/** One session that is listened for here. */
export interface Watch {
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
