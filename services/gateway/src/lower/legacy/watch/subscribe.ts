// `resources/subscribe` of a legacy session (protocol.md §5.3): the server is asked here first, whoever listens.

import type { Refusal } from '../../../errors.ts';
import type { Authenticated } from '../../../exchange.ts';
import { refusalOf } from '../../../route/refuse.ts';
import type { Session } from '../../../session/record.ts';
import { exchangeOf } from '../forward.ts';
import { callerOf } from '../gate.ts';
import type { Watch, WatchesDeps } from './contract.ts';

export type Subscribe = (
  watch: Watch | null,
  session: Session,
  ticket: Authenticated,
  uri: string,
) => Promise<Refusal | null>;

type SubscribingDeps = Pick<WatchesDeps, 'subscriptions' | 'clock'> & {
  /** A watch that nobody knows. */
  readonly make: (session: Session, ticket: Authenticated) => Watch;
  readonly stop: (watch: Watch) => void;
  readonly announce: (session: Session) => void;
};

/** Until the replica that listens has heard of it. */
const OVERLAP_MS = 5_000;

export function createSubscribe(deps: SubscribingDeps): Subscribe {
  const { subscriptions, clock, make, stop, announce } = deps;

  return async function subscribe(watch, session, ticket, uri) {
    let refusal = watch === null ? null : await addHere(watch, ticket, uri);
    // Another replica has it, or has taken it just now; it hears of the URI when that has been found good here.
    if (watch === null || watch.over) {
      const temporary = make(session, ticket);
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
  };

  async function addHere(watch: Watch, ticket: Authenticated, uri: string): Promise<Refusal | null> {
    const added = await watch.audience.add(uri);
    if (added === 'told') return null;
    if (added === 'unsupported') return { reason: 'unknown-method' };
    if (added === 'refused') return REFUSED;
    const exchange = exchangeOf({ ticket, caller: callerOf(watch.session), xid: ticket.xid }, {}, NEVER);
    return refusalOf(added.fault, added.spec, null, exchange, NO_ASK);
  }
}

const NEVER: AbortSignal = new AbortController().signal;
const NO_ASK = { method: 'resources/subscribe', bytes: new Uint8Array(0), params: [], progress: false } as const;
const REFUSED: Refusal = { reason: 'invalid-params', message: 'This resource cannot be subscribed to.' };
