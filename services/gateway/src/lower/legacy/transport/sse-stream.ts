// The stream of the 2024-11-05 transport, on the replica that holds its socket (protocol.md §3.7): a GET opens it and the
// session, its first event names where to POST. Its loss ends the session: nothing resumes here. What another replica
// took and did not live to answer is lowered on from here (questions/takeover.ts).

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { Authenticated } from '../../../exchange.ts';
import type { HttpOut, SseStream } from '../../../http/contract.ts';
import type { Attachments } from '../../../session/attachments.ts';
import { servedRevisions } from '../../../session/negotiate.ts';
import type { Session } from '../../../session/record.ts';
import type { Sessions } from '../../../session/sessions.ts';
import type { Standing } from '../../../session/standing.ts';
import type { Handle } from '../handle.ts';
import type { Takeover, Taking } from '../questions/takeover.ts';
import { refusalResponse, refuse } from '../refusal.ts';
import type { HeldStream, Outbox } from './outbox.ts';
import { messagesPath } from './paths.ts';

export interface SseStreamsDeps {
  readonly config: ConfigSource;
  readonly sessions: Sessions;
  readonly attachments: Attachments;
  readonly standing: Pick<Standing, 'hold'>;
  readonly outbox: Outbox;
  readonly takeover: Pick<Takeover, 'watch'>;
  /** Whatever may be POSTed, `initialize` included. */
  readonly handle: Handle;
  readonly endSession: (session: Session) => Promise<void>;
  readonly failed: (what: string, error: unknown) => void;
}

export interface SseStreams {
  open(ticket: Authenticated, out: HttpOut): Promise<void>;
  /** Ends every stream held here, and with it its session. */
  close(): Promise<void>;
}

/** Before this nobody has been taken for dead. */
const FIRST_LOOK_MS = 1_000;

export function createSseStreams(deps: SseStreamsDeps): SseStreams {
  const open = new Set<() => Promise<void>>();

  async function openStream(ticket: Authenticated, out: HttpOut): Promise<void> {
    if (!ticket.route.sse || servedRevisions(ticket.route).length === 0) {
      return refuse(out, { reason: 'verb' }, ticket.xid, undefined);
    }
    if (!out.accepts.sse) return refuse(out, { reason: 'not-acceptable' }, ticket.xid, undefined);
    const opening = { transport: 'sse', revision: null, capabilities: {}, clientInfo: null } as const;
    const opened = await deps.sessions.open(ticket, deps.sessions.mint(), opening);
    if (opened.kind !== 'found') {
      return refuse(out, { reason: opened.kind === 'full' ? 'too-many' : 'unreadable' }, ticket.xid, undefined);
    }
    await serve(ticket, opened.session, out);
  }

  async function serve(ticket: Authenticated, session: Session, out: HttpOut): Promise<void> {
    let stream: SseStream | null = null;
    let held: HeldStream | null = null;
    let stopWatching: (() => void) | null = null;
    let ending: Promise<void> | null = null;
    const end = (): Promise<void> => {
      ending ??= finish();
      return ending;
    };
    const finish = async (): Promise<void> => {
      open.delete(end);
      letGo();
      fall();
      stopWatching?.();
      stream?.end();
      await held?.release();
      await deps.endSession(session);
    };
    const endSoon = (): void => {
      end().catch((error: unknown) => deps.failed('stream end', error));
    };
    const watch = (): void => {
      if (held === null || ending !== null) return;
      const idle = () => {
        stopWatching = null;
      };
      stopWatching ??= deps.takeover.watch({ ...takingOf(ticket, session, held), idle });
    };
    const letGo = deps.attachments.attach(session, endSoon);
    const fall = deps.standing.hold(session, ticket, endSoon);
    open.add(end);
    try {
      // Log entries may come only after this returns, so the stream is there by then.
      held = await deps.outbox.hold(session, { stream: () => stream!, lost: endSoon, owing: () => watch() });
    } catch (error) {
      deps.failed('stream lease', error);
      endSoon();
      return refuse(out, { reason: 'unreadable' }, ticket.xid, undefined);
    }
    if (ending !== null) return; // ended before it began
    stream = out.sse();
    stream.send(messagesPath(ticket, session.id, deps.config.current().publicBaseUrl), { name: 'endpoint' });
    out.onVanish(endSoon);
  }

  function takingOf(opener: Authenticated, session: Session, { debts }: HeldStream): Taking {
    // The stream may be older than the configuration.
    const ticket = (): Authenticated => {
      const snapshot = deps.config.current();
      const route = snapshot.routes.find(({ path }) => path === opener.route.path) ?? opener.route;
      return { ...opener, snapshot, route };
    };
    return {
      ticket,
      async session(): Promise<Session | null> {
        const found = await deps.sessions.find(ticket(), session.id);
        return found.kind === 'found' ? found.session : null;
      },
      pending: debts.pending,
      append: (xid, entry) => deps.outbox.send(session, { ...entry, xid, text: entry.text ?? '' }),
      fit: (entry) => entry,
      forgotten(xid) {
        const owed = debts.owed(xid);
        if (owed === undefined) return '';
        return refusalResponse({ reason: 'lost' }, owed.method, owed.idText, xid);
      },
      handle: deps.handle,
      firstLookMs: FIRST_LOOK_MS,
    };
  }

  return {
    open: openStream,
    async close() {
      await Promise.all([...open].map((end) => end()));
    },
  };
}
