// GET on the MCP path (protocol.md §3.2–§3.4): the standalone stream of a session, or any of its streams again, after
// `Last-Event-ID`. Kept open with comments until the session ends, the client leaves, or we drain. Several per session
// are accepted; each later message goes to one of them.

import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { Authenticated } from '../../../exchange.ts';
import type { Headers, HttpOut, SseStream } from '../../../http/contract.ts';
import type { Attachments } from '../../../session/attachments.ts';
import type { Random } from '../../../session/id.ts';
import type { Session } from '../../../session/record.ts';
import type { Standing } from '../../../session/standing.ts';
import { callerOf, checkVersion, type Gate } from '../gate.ts';
import { refuse } from '../refusal.ts';
import { deliver, RETRY_MS } from '../stream/channel.ts';
import { OPEN_SIEVE } from '../stream/entry.ts';
import { type Cursor, eventId, mintStream, readEventId, START } from '../stream/event-id.ts';
import type { Hold, Holding } from '../stream/hold.ts';
import type { Streams } from '../stream/streams.ts';
import type { Watches } from '../watch/contract.ts';
import type { ResumeStream } from './resume.ts';

export interface Standalone {
  open(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void>;
  /**
   * A notification that no call has caused, to one of the session's streams that are held here. False: there is none.
   * `name`: told once, however often it is said.
   */
  tell(session: Session, text: string, name: string): Promise<boolean>;
  close(): void;
}

export interface StandaloneDeps {
  readonly gate: Gate;
  readonly attachments: Attachments;
  readonly standing: Pick<Standing, 'hold'>;
  readonly random: Random;
  readonly streams: Streams;
  readonly holding: Holding;
  readonly resume: ResumeStream;
  readonly watches?: Pick<Watches, 'opened'> | null;
  readonly failed: (what: string, error: unknown) => void;
}

const MAX_PER_SESSION = 16;
const NO_CALLS = { calls: [] };

export function createStandalone(deps: StandaloneDeps): Standalone {
  const { streams, holding, failed } = deps;
  /** By session, then the stream's own name. */
  const bySession = new Map<string, Map<string, SseStream>>();

  function forget(id: string, stream: string, socket: SseStream): void {
    const held = bySession.get(id);
    if (held?.get(stream) === socket) held.delete(stream);
    if (held?.size === 0) bySession.delete(id);
  }

  async function open(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void> {
    const { xid } = ticket;
    if (headers[HEADER.session] === undefined) {
      return out.empty(405, { allow: 'POST' });
    }
    const admitted = await deps.gate.session(ticket, headers);
    if (admitted.kind === 'refusal') return refuse(out, admitted.refusal, xid, undefined);
    if (admitted.kind === 'none') return refuse(out, { reason: 'session-missing' }, xid, undefined);
    if (!out.accepts.sse) return refuse(out, { reason: 'not-acceptable' }, xid, undefined);
    const { session } = admitted;
    const wrong = checkVersion(headers, callerOf(session).revision);
    if (wrong !== null) return refuse(out, wrong, xid, undefined);
    const last = headers[HEADER.lastEventId];
    const cursor = typeof last === 'string' ? readEventId(last) : null;
    if (cursor?.kind === 'post') return await deps.resume(ticket, session, cursor, out);
    await stand(ticket, session, cursor, out);
  }

  /** A cursor that nobody knows any more is a fresh stream: nothing was promised on it. */
  async function stand(ticket: Authenticated, session: Session, cursor: Cursor | null, out: HttpOut): Promise<void> {
    const held = bySession.get(session.id) ?? new Map<string, SseStream>();
    if (held.size >= MAX_PER_SESSION && !held.has(cursor?.stream ?? '')) {
      return refuse(out, { reason: 'too-many' }, ticket.xid, undefined);
    }
    const known = cursor !== null && (await streams.find(session, cursor.stream).catch(() => null)) !== null;
    const stream = known ? cursor.stream : mintStream('get', deps.random);
    const after = known ? cursor.position : START;
    const socket = out.sse();
    bySession.set(session.id, held);
    held.set(stream, socket);
    let hold: Hold | null = null;
    let over = false;
    let unwatch: (() => void) | undefined;
    const end = (): void => {
      over = true;
      fall();
      unwatch?.();
      forget(session.id, stream, socket);
      // Nothing is said on it without a holder. A client that comes back with its id begins it anew.
      hold?.release().catch((error: unknown) => failed('stream lease', error));
      streams.finish(session, stream).catch((error: unknown) => failed('stream end', error));
      socket.end();
    };
    const letGo = deps.attachments.attach(session, end);
    const leave = (): void => {
      letGo();
      end();
    };
    const fall = deps.standing.hold(session, ticket, leave);
    out.onVanish(leave);
    try {
      await streams.begin(session, stream, NO_CALLS);
      if (atLeast(callerOf(session).revision, '2025-11-25')) {
        socket.send('', { id: eventId(stream, after), retry: RETRY_MS });
      }
      const sink = { send: sendTo(socket), fetch: async () => '', done: () => undefined, lost: leave };
      hold = await holding({ session, stream, after, sieve: OPEN_SIEVE, calls: [], sink });
      if (over) await hold.release();
      else unwatch = deps.watches?.opened(session, ticket);
    } catch (error) {
      failed('standalone stream', error); // it stands, and may be opened again
    }
  }

  return {
    open,
    async tell(session, text, name) {
      for (const stream of bySession.get(session.id)?.keys() ?? []) {
        await streams.begin(session, stream, NO_CALLS); // it may have been silent for longer than it is kept
        await streams.append(session, stream, { kind: 'said', name, text });
        return true;
      }
      return false;
    },
    close() {
      for (const held of bySession.values()) for (const socket of held.values()) socket.end();
      bySession.clear();
    },
  };
}

function sendTo(socket: SseStream) {
  return (text: string, id: string, kind: 'event' | 'said' | 'response'): void => deliver(socket, text, id, kind);
}
