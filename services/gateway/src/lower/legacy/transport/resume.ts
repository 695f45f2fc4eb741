// GET with `Last-Event-ID` of a stream that began with a POST (protocol.md §3.4): on any replica, that stream's later
// events only, then what follows, until all of its calls are answered. A stream that nobody knows (any more) is 400; one
// of which nothing is left to say is 204, which tells a client to stop asking.

import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Authenticated } from '../../../exchange.ts';
import type { HttpOut } from '../../../http/contract.ts';
import type { Attachments } from '../../../session/attachments.ts';
import type { Session } from '../../../session/record.ts';
import type { Standing } from '../../../session/standing.ts';
import { callerOf } from '../gate.ts';
import type { Takeover } from '../questions/takeover.ts';
import { refuse } from '../refusal.ts';
import { deliver, RETRY_MS } from '../stream/channel.ts';
import { createSieve, decodeEntry, fitting, type Sieve } from '../stream/entry.ts';
import { type Cursor, eventId, isAfter } from '../stream/event-id.ts';
import type { Hold, Holding } from '../stream/hold.ts';
import type { StreamRecord, Streams } from '../stream/streams.ts';

export type ResumeStream = (ticket: Authenticated, session: Session, cursor: Cursor, out: HttpOut) => Promise<void>;

export interface Resume {
  readonly open: ResumeStream;
  /** Ends the sockets held here; their streams may be resumed elsewhere. */
  close(): void;
}

export interface ResumeDeps {
  readonly attachments: Attachments;
  readonly standing: Pick<Standing, 'hold'>;
  readonly streams: Streams;
  readonly holding: Holding;
  readonly takeover: Takeover;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

/** One that has come back is kept for a moment, however short its route's streams are. */
const MIN_POLL_MS = 1000;

const UNKNOWN = {
  reason: 'invalid-request',
  message: 'This Last-Event-ID is of a stream that is over; its responses are no longer kept.',
  next: 'Find out what was done before sending the request again.',
} as const;

export function createResume(deps: ResumeDeps): Resume {
  const { streams, failed } = deps;
  const open = new Set<() => void>();

  const resume: ResumeStream = async (ticket, session, cursor, out) => {
    let record: StreamRecord | null;
    let sieve: Sieve;
    try {
      record = await streams.find(session, cursor.stream);
      sieve = await passed(session, cursor);
    } catch (error) {
      failed('stream record', error);
      return refuse(out, { reason: 'unreadable' }, ticket.xid, undefined);
    }
    if (record === null) return refuse(out, UNKNOWN, ticket.xid, undefined);
    if (record.calls.every(sieve.answered)) return out.empty(204);
    await serve(ticket, session, cursor, record, sieve, out);
  };

  /** What this client has had already: copies of it must not come again. */
  async function passed(session: Session, cursor: Cursor): Promise<Sieve> {
    const sieve = createSieve();
    for (const { position, value } of await streams.read(session, cursor.stream)) {
      if (isAfter(position, cursor.position)) break;
      const entry = decodeEntry(value);
      if (entry !== null) sieve.passes(entry);
    }
    return sieve;
  }

  async function serve(
    ticket: Authenticated,
    session: Session,
    { stream, position: after }: Cursor,
    { calls }: StreamRecord,
    sieve: Sieve,
    out: HttpOut,
  ): Promise<void> {
    const socket = out.sse();
    let hold: Hold | null = null;
    let stopWatching: (() => void) | null = null;
    let timer: Timer | null = null;
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      open.delete(end);
      stopWatching?.();
      timer?.clear();
      letGo();
      fall();
      hold?.release().catch((error: unknown) => failed('stream lease', error));
      socket.end();
    };
    open.add(end);
    const letGo = deps.attachments.attach(session, end);
    const fall = deps.standing.hold(session, ticket, end);
    out.onVanish(end);
    const done = (): void => {
      end();
      streams.finish(session, stream).catch((error: unknown) => failed('stream end', error));
    };
    try {
      hold = await deps.holding({
        ...{ session, stream, after, sieve, calls },
        sink: {
          send: (text, id, kind) => deliver(socket, text, id, kind),
          fetch: (xid) => deps.takeover.fetch(ticket, session, xid),
          done,
          lost: end,
        },
      });
    } catch (error) {
      failed('stream lease', error);
      return end(); // it may be tried again
    }
    if (over) return await hold.release();
    const pending = () =>
      calls.filter((xid) => !sieve.answered(xid)).map((xid) => ({ xid, fromSeq: sieve.lastSeq(xid) }));
    stopWatching = deps.takeover.watch({
      ticket: () => ticket,
      session: async () => session,
      pending,
      append: (_xid, entry) => streams.append(session, stream, entry),
      fit: fitting,
      forgotten: () => '', // the stream ends without it
    });
    const closeMs = atLeast(callerOf(session).revision, '2025-11-25') ? ticket.route.closeStreamsAfterMs : 0;
    if (closeMs > 0) {
      timer = deps.clock.setTimer(Math.max(closeMs, MIN_POLL_MS), () => {
        socket.send('', { id: hold?.lastId() ?? eventId(stream, after), retry: RETRY_MS });
        end();
      });
    }
  }

  return {
    open: resume,
    close() {
      for (const end of [...open]) end();
    },
  };
}
