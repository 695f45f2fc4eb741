// A reply that streams, as its calls see it: events, wire requests, responses, in order. Two kinds. A plain one writes
// to its socket and ends with it. A logged one writes to the stream's log first and lets the holder copy, so that the
// calls go on without the socket and another replica can take both (protocol.md §3.4, design §4 "Legacy streams").

import type { Body, SseStream } from '../../../http/contract.ts';
import { byteLength } from '../../../http/pieces.ts';
import type { Session } from '../../../session/record.ts';
import type { KeptCall } from '../questions/record.ts';
import { createSieve, type Entry, fitting } from './entry.ts';
import { eventId, START } from './event-id.ts';
import type { Hold, Holding } from './hold.ts';
import type { Streams } from './streams.ts';

export interface Channel {
  write(entry: Entry): Promise<void>;
  /** After the last response has been written. */
  end(): Promise<void>;
  /** Another replica goes on with it. */
  leave(): Promise<void>;
  /** The socket is gone; what is logged goes on. */
  vanish(): void;
  /** Ends the socket so that the client polls. False: it cannot. */
  poll(): Promise<boolean>;
}

/** Events beyond this much unread text are dropped; responses never are. */
export const MAX_EVENT_BACKLOG = 1024 * 1024;
/** A reader this far behind is cut; it may resume (GB-140). */
export const MAX_BACKLOG = 16 * 1024 * 1024;
/** How soon a client that lost its stream is to come back. */
export const RETRY_MS = 1000;

export function plainChannel(stream: SseStream): Channel {
  let gone = false;
  return {
    async write(entry) {
      if (gone) throw new Error('the client has left');
      if (entry.kind === 'event' && stream.bufferedBytes > MAX_EVENT_BACKLOG) return;
      if (entry.text !== null && byteLength(entry.text) > 0) stream.send(entry.text);
    },
    async end() {
      stream.end();
    },
    async leave() {
      stream.end();
    },
    vanish() {
      gone = true;
    },
    poll: async () => false,
  };
}

export interface LoggedTerms {
  readonly session: Session;
  readonly stream: string;
  readonly calls: readonly { readonly xid: string; readonly kept: KeptCall }[];
  /** 2025-11-25: begins with a priming event; older clients choke on empty data. */
  readonly primes: boolean;
}

export interface LoggedDeps {
  readonly streams: Streams;
  readonly holding: Holding;
  readonly failed: (what: string, error: unknown) => void;
}

export function loggedChannel(deps: LoggedDeps, socket: SseStream, terms: LoggedTerms): Channel {
  const { streams, holding, failed } = deps;
  const { session, stream, calls } = terms;
  const direct = plainChannel(socket);
  let hold: Hold | null = null;
  let gone = false;
  let unlogged = false;
  let pending = 0;
  const begun = begin().catch((error: unknown) => {
    failed('stream record', error);
    return false; // without ids then: nothing to resume
  });
  let tail: Promise<unknown> = begun;

  async function begin(): Promise<boolean> {
    await Promise.all([
      streams.begin(session, stream, { calls: calls.map((c) => c.xid) }),
      ...calls.map((c) => c.kept.save({ stream })),
    ]);
    if (gone) return true;
    if (terms.primes) socket.send('', { id: eventId(stream, START), retry: RETRY_MS });
    const taken = await holding({
      ...{ session, stream, after: START, sieve: createSieve(), calls: calls.map((c) => c.xid) },
      sink: {
        send: (text, id, kind) => deliver(socket, text, id, kind),
        fetch: async () => '', // what this replica lowers it keeps beside the log
        done: finish,
        lost: () => {
          gone = true;
          direct.vanish();
          socket.end();
        },
      },
    });
    hold = taken;
    if (gone) await taken.release();
    return true;
  }

  function finish(): void {
    socket.end();
    letGo(true).catch((error: unknown) => failed('stream end', error));
  }

  async function letGo(finished: boolean): Promise<void> {
    await hold?.release();
    if (finished) await streams.finish(session, stream);
  }

  async function writeNow(entry: Entry): Promise<void> {
    if (!(await begun)) return await direct.write(entry);
    const kept = fitting(entry);
    if (kept.text === null && entry.text !== null && !gone) hold?.keep(entry, entry.text);
    try {
      await streams.append(session, stream, kept);
    } catch (error) {
      failed('stream log', error);
      unlogged = true;
      await direct.write(entry); // the client is there, the log is not
    }
    if (entry.kind === 'response') {
      await calls.find((c) => c.xid === entry.xid)?.kept.end(kept.text === null);
    }
  }

  return {
    write(entry) {
      const size = entry.text === null ? 0 : byteLength(entry.text);
      if (entry.kind === 'event' && pending > MAX_EVENT_BACKLOG) return Promise.resolve();
      pending += size;
      const writing = tail
        .then(() => writeNow(entry))
        .finally(() => {
          pending -= size;
        });
      tail = writing.catch(() => undefined);
      return writing;
    },
    async end() {
      await tail;
      if (!(await begun)) socket.end();
      else if (gone) await letGo(true);
      else if (unlogged) finish(); // the log alone will never say that all is answered
    },
    vanish() {
      gone = true;
      direct.vanish();
      letGo(false).catch((error: unknown) => failed('stream lease', error));
    },
    leave: async () => void (await part()),
    poll: part,
  };

  async function part(): Promise<boolean> {
    await tail;
    if (!(await begun) || gone) return false;
    const last = hold?.lastId() ?? eventId(stream, START);
    if (last !== eventId(stream, START) || !terms.primes) socket.send('', { id: last, retry: RETRY_MS });
    gone = true;
    direct.vanish();
    socket.end();
    await letGo(false);
    return true;
  }
}

/** Events are dropped for a reader that lags; what must not be lost cuts it off in the end. */
export function deliver(socket: SseStream, text: Body, id: string, kind: Entry['kind']): void {
  if (kind === 'event' && socket.bufferedBytes > MAX_EVENT_BACKLOG) return;
  socket.send(text, { id });
  if (socket.bufferedBytes > MAX_BACKLOG) socket.end();
}
