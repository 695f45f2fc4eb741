// Calls whose replica is gone, lowered on by the replica that holds their stream (design §4 "Legacy streams"): their
// exchange is joined, never begun again, and what comes is appended to the stream's log. One replica takes a call, by a
// check-and-set on its record; for a moment two may lower it, which the stream's sieve evens out.

import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Authenticated } from '../../../exchange.ts';
import type { Body } from '../../../http/contract.ts';
import type { Belongings } from '../../../session/belongings.ts';
import { callKey } from '../../../session/keys.ts';
import type { Presence } from '../../../session/presence.ts';
import type { Session } from '../../../session/record.ts';
import type { Voice } from '../contract.ts';
import { callerOf } from '../gate.ts';
import type { Handle } from '../handle.ts';
import type { Entry } from '../stream/entry.ts';
import { locateAgain } from './rebuild.ts';
import { type CallRecord, type KeptCall, keepCall } from './record.ts';

export interface Pending {
  readonly xid: string;
  readonly fromSeq: number | undefined;
}

/** A stream held here, and what is still to be said on it. */
export interface Taking {
  readonly ticket: () => Authenticated;
  /** Null: it has ended. */
  readonly session: () => Promise<Session | null>;
  pending(): readonly Pending[];
  append(xid: string, entry: Entry): Promise<void>;
  /** The entry as it may be kept. */
  fit<E extends Entry>(entry: E): E;
  /** What is said of a call of which nothing is kept any more; '': nothing. */
  forgotten(xid: string): Body;
  /** Default: the leg's own. */
  readonly handle?: Handle;
  /** Default: at once. */
  readonly firstLookMs?: number;
  /** Nothing is pending; watching has ended. */
  idle?(): void;
}

export interface Takeover {
  /** Sees to it that somebody lowers the calls of this stream, until stopped. */
  watch(taking: Taking): () => void;
  /** A response that was too large for the log. */
  fetch(ticket: Authenticated, session: Session, xid: string): Promise<Body>;
}

export interface TakeoverDeps {
  readonly store: Store;
  readonly belongings: Belongings;
  readonly clock: Clock;
  readonly presence: Presence;
  readonly handle: Handle;
  readonly failed: (what: string, error: unknown) => void;
}

const LOOK_MS = 1_000;
/** Looks at a call without record and without response before it is given up: the state was lost. */
const MAX_MISSES = 3;
/** A large response waits this long to be copied by the holder, which is this replica. */
const LARGE_MS = 30_000;

export function createTakeover(deps: TakeoverDeps): Takeover {
  const { store, clock, failed } = deps;
  const running = new Set<string>();
  const large = new Map<string, Body>();

  async function read(session: Session, xid: string): Promise<{ text: string; record: CallRecord } | null> {
    const text = await store.get(callKey(session.record.tenant, session.id, xid));
    return text === null ? null : { text, record: JSON.parse(text) as CallRecord };
  }

  /** False: its record is gone. */
  async function look(taking: Taking, session: Session, pending: Pending): Promise<boolean> {
    if (running.has(pending.xid)) return true;
    const found = await read(session, pending.xid);
    if (found === null) return false;
    if (await deps.presence.alive(found.record.by)) return true;
    const kept = keepCall(deps, session, found.record, found.text);
    if (running.has(pending.xid) || !(await kept.save({ by: deps.presence.self }))) return true;
    running.add(pending.xid);
    run(taking, session, pending, kept)
      .catch((error: unknown) => failed('taken call', error))
      .finally(() => running.delete(pending.xid));
    return true;
  }

  async function run(taking: Taking, session: Session, { xid, fromSeq }: Pending, kept: KeptCall): Promise<void> {
    const message = locateAgain(kept.record.message);
    if (message === null) return;
    const append = appender(taking, xid);
    const voice = voiceOf(append);
    const taken = { fromSeq };
    const handle = taking.handle ?? deps.handle;
    const call = { ticket: taking.ticket(), caller: callerOf(session), message, xid, voice, kept, taken };
    const response = await handle(call);
    if (response === 'left') return kept.leave();
    const text = response ?? '';
    const entry = taking.fit({ kind: 'response', xid, text });
    if (entry.text === null) {
      large.set(xid, text);
      clock.setTimer(LARGE_MS, () => large.delete(xid)).unref?.();
    }
    // Behind all that was heard before it: what comes after a response passes no sieve.
    await append(entry);
    await kept.end(entry.text === null);
  }

  /** One after another, in the order of the calls. */
  function appender(taking: Taking, xid: string): (entry: Entry) => Promise<void> {
    let tail: Promise<void> = Promise.resolve();
    return (entry) => {
      const appending = tail.then(() => taking.append(xid, taking.fit(entry)));
      tail = appending.catch((error: unknown) => failed('stream log', error));
      return appending;
    };
  }

  function voiceOf(append: (entry: Entry) => Promise<void>): Voice {
    return {
      event(xid, seq, text) {
        append({ kind: 'event', xid, seq: seq ?? null, text }).catch(() => undefined);
      },
      say: (text, name) => append({ kind: 'said', name, text }),
    };
  }

  return {
    watch(taking) {
      const misses = new Map<string, number>();
      let stopped = false;
      let timer = clock.setTimer(taking.firstLookMs ?? 0, turn);

      async function round(): Promise<void> {
        const pending = taking.pending();
        const session = pending.length === 0 ? null : await taking.session();
        if (session === null) return;
        for (const one of pending) {
          if (stopped) return;
          if (await look(taking, session, one)) continue;
          const missed = (misses.get(one.xid) ?? 0) + 1;
          misses.set(one.xid, missed);
          // No response can be made without its request.
          if (missed < MAX_MISSES) continue;
          misses.delete(one.xid);
          await taking.append(one.xid, { kind: 'response', xid: one.xid, text: taking.forgotten(one.xid) });
        }
      }
      function turn(): void {
        round()
          .catch((error: unknown) => failed('taken call', error))
          .finally(() => {
            if (stopped) return;
            if (taking.idle === undefined || taking.pending().length > 0) timer = clock.setTimer(LOOK_MS, turn);
            else {
              stopped = true;
              taking.idle();
            }
          });
      }
      return () => {
        stopped = true;
        timer.clear();
      };
    },

    async fetch(ticket, session, xid) {
      const here = large.get(xid);
      large.delete(xid);
      if (here !== undefined) return here;
      try {
        const found = await read(session, xid);
        const message = found === null ? null : locateAgain(found.record.message);
        if (message === null) return '';
        const taken = { fromSeq: Number.MAX_SAFE_INTEGER };
        const caller = callerOf(session);
        const response = await deps.handle({ ticket, caller, message, xid, voice: null, kept: null, taken });
        return response === null || response === 'left' ? '' : response;
      } catch (error) {
        failed('large response', error);
        return '';
      }
    },
  };
}
