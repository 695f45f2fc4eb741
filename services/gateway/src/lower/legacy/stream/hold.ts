// Holding a stream's socket: take the lease, copy the log after a cursor, go on until everything is answered or
// somebody else holds it (protocol.md §3.4 "Cross-replica", §5.8 #20). One holder delivers; the newest wins, at once on
// this replica, by hint on another, by the lease's renewal when the hint is lost.

import type { Clock } from '@lockkeeper/state/clock';
import type { Following, LogEntry, Store } from '@lockkeeper/state/store';
import type { Body } from '../../../http/contract.ts';
import { byteLength } from '../../../http/pieces.ts';
import type { Hints } from '../../../session/hints.ts';
import type { Random } from '../../../session/id.ts';
import { streamHolderKey, streamLogKey } from '../../../session/keys.ts';
import { type Lease, takeLease } from '../../../session/lease.ts';
import type { Session } from '../../../session/record.ts';
import { decodeEntry, type Entry, nameOf, type Sieve } from './entry.ts';
import { eventId } from './event-id.ts';

export interface Sink {
  send(text: Body, id: string, kind: Entry['kind']): void;
  /** The response that was too large for the log; called where it was not lowered. Never rejects. */
  fetch(xid: string): Promise<Body>;
  /** All calls are answered and everything has been sent. */
  done(): void;
  /** Another holds it now, or the log cannot be followed: the socket is of no use. */
  lost(): void;
}

export interface Copying {
  readonly session: Session;
  readonly stream: string;
  /** Log position after which to begin. */
  readonly after: string;
  readonly sieve: Sieve;
  /** Calls whose responses end the stream; none: it has no end. */
  readonly calls: readonly string[];
  readonly sink: Sink;
}

export interface Hold {
  /** Id of the last event sent. */
  lastId(): string;
  /** Keeps beside the log what is too large for it, until it has been sent. */
  keep(entry: Entry, text: Body): void;
  /** Idempotent. Nothing is sent afterwards. */
  release(): Promise<void>;
}

export interface HoldingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly hints: Hints;
  readonly failed: (what: string, error: unknown) => void;
}

/** Rejects when the store does not answer. */
export type Holding = (copying: Copying) => Promise<Hold>;

interface Holder {
  readonly token: string;
  readonly lose: () => void;
  /** Another says that it holds the stream now. Of two that came at once both hear so: the lease decides. */
  readonly doubt: () => void;
}

export function createHolding(deps: HoldingDeps): Holding {
  const { store, hints } = deps;
  /** Holders here, by log key. */
  const here = new Map<string, Holder>();

  hints.on((hint) => {
    if (hint.kind !== 'taken') return;
    const holder = here.get(streamLogKey(hint.tenant, hint.id, hint.stream));
    if (holder !== undefined && holder.token !== hint.token) holder.doubt();
  });

  return async function hold(copying) {
    const { session, stream, sink } = copying;
    const { tenant } = session.record;
    const key = streamLogKey(tenant, session.id, stream);
    const token = Buffer.from(deps.random(12)).toString('base64url');
    let over = false;
    let doubted = false;
    let lease: Lease | null = null;
    let following: Following | null = null;
    const release = async (): Promise<void> => {
      over = true;
      if (here.get(key)?.token === token) here.delete(key);
      following?.close();
      await lease?.release();
    };
    const lose = (): void => {
      if (over) return;
      release().catch((error: unknown) => deps.failed('stream lease', error));
      sink.lost();
    };
    const doubt = (): void => {
      // Before its own lease is written nothing can be said of it.
      if (lease === null) doubted = true;
      else void lease.confirm();
    };
    const copier = createCopier(copying, () => over, deps.failed);
    here.get(key)?.lose();
    here.set(key, { token, lose, doubt });
    try {
      lease = await takeLease(deps, streamHolderKey(tenant, session.id, stream), token, lose);
      if (doubted) await lease.confirm();
    } catch (error) {
      await release();
      throw error;
    }
    if (over)
      await release(); // somebody took it while the lease was being written
    else {
      hints.send({ kind: 'taken', tenant, id: session.id, stream, token });
      following = store.follow(key, copying.after, copier.take, lose);
    }
    return { lastId: copier.lastId, keep: copier.keep, release };
  };
}

interface Copier {
  take(entry: LogEntry): void;
  keep(entry: Entry, text: Body): void;
  lastId(): string;
}

/** Sends what passes, in the log's order, though one text may have to be fetched first. */
function createCopier(
  { stream, after, sieve, calls, sink }: Copying,
  over: () => boolean,
  failed: HoldingDeps['failed'],
): Copier {
  const kept = new Map<string, Body>();
  const queue: { readonly id: string; readonly entry: Entry }[] = [];
  let busy = false;
  let last = eventId(stream, after);

  async function pump(): Promise<void> {
    if (busy) return;
    busy = true;
    try {
      for (let next = queue.shift(); next !== undefined && !over(); next = queue.shift()) {
        const { entry, id } = next;
        const text = entry.text ?? (await elsewhere(entry));
        if (over()) return;
        if (text !== null && byteLength(text) > 0) sink.send(text, id, entry.kind);
        last = id;
        if (entry.kind === 'response' && calls.length > 0 && calls.every(sieve.answered)) sink.done();
      }
    } finally {
      busy = false;
    }
  }

  async function elsewhere(entry: Entry): Promise<Body | null> {
    const name = nameOf(entry);
    const text = kept.get(name);
    kept.delete(name);
    if (text !== undefined) return text;
    return entry.kind === 'response' ? await sink.fetch(entry.xid) : null;
  }

  return {
    take({ position, value }) {
      const entry = decodeEntry(value);
      if (entry === null || over() || !sieve.passes(entry)) return;
      queue.push({ id: eventId(stream, position), entry });
      pump().catch((error: unknown) => failed('stream copy', error));
    },
    keep(entry, text) {
      kept.set(nameOf(entry), text);
    },
    lastId: () => last,
  };
}
