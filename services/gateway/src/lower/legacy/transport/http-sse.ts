// The 2024-11-05 transport (protocol.md §3.7): a GET opens the stream and the session, its first event names where to
// POST, and every answer comes on that stream. Both verbs are authenticated and held against the session's principal
// (GB-011); the id in the URL is a name only. The stream's loss ends the session: nothing resumes here.

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { Refusal } from '../../../errors.ts';
import type { Authenticated } from '../../../exchange.ts';
import type { HttpOut, LegacyBody, Located, SseStream } from '../../../http/contract.ts';
import type { Attachments } from '../../../session/attachments.ts';
import { servedRevisions } from '../../../session/negotiate.ts';
import type { Session } from '../../../session/record.ts';
import type { Sessions } from '../../../session/sessions.ts';
import type { Standing } from '../../../session/standing.ts';
import type { LegacyCall, Response, Voice } from '../contract.ts';
import { callerOf, type Gate } from '../gate.ts';
import type { Handle } from '../handle.ts';
import type { createInitialize } from '../initialize.ts';
import type { Notify } from '../notify.ts';
import type { TakeAnswer } from '../questions/answers.ts';
import type { KeepCall } from '../questions/record.ts';
import { absentId, refusalResponse, refuse } from '../refusal.ts';
import { checkBatch } from './batch.ts';
import type { Outbox } from './outbox.ts';
import { messagesPath } from './paths.ts';

export interface HttpSseDeps {
  readonly config: ConfigSource;
  readonly sessions: Sessions;
  readonly attachments: Attachments;
  readonly standing: Pick<Standing, 'hold'>;
  readonly gate: Gate;
  readonly outbox: Outbox;
  readonly handle: Handle;
  readonly notify: Notify;
  readonly initialize: ReturnType<typeof createInitialize>;
  readonly takeAnswer: TakeAnswer;
  readonly keepCall: KeepCall;
  readonly endSession: (session: Session) => Promise<void>;
  readonly failed: (what: string, error: unknown) => void;
}

type Terms = Omit<LegacyCall, 'caller'> & { readonly session: Session };

export interface HttpSse {
  open(ticket: Authenticated, out: HttpOut): Promise<void>;
  post(ticket: Authenticated, sessionId: string, body: LegacyBody, out: HttpOut): Promise<void>;
  /** Ends every stream held here, and with it its session. */
  close(): Promise<void>;
}

export function createHttpSse(deps: HttpSseDeps): HttpSse {
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
    let release: (() => Promise<void>) | null = null;
    let ending: Promise<void> | null = null;
    const end = (): Promise<void> => {
      ending ??= finish();
      return ending;
    };
    const finish = async (): Promise<void> => {
      open.delete(end);
      letGo();
      fall();
      stream?.end();
      await release?.();
      await deps.endSession(session);
    };
    const endSoon = (): void => {
      end().catch((error: unknown) => deps.failed('stream end', error));
    };
    const letGo = deps.attachments.attach(session, endSoon);
    const fall = deps.standing.hold(session, ticket, endSoon);
    open.add(end);
    try {
      // Log entries may come only after this returns, so the stream is there by then.
      release = await deps.outbox.hold(session, () => stream!, endSoon);
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

  async function post(ticket: Authenticated, sessionId: string, body: LegacyBody, out: HttpOut): Promise<void> {
    const messages = body.kind === 'single' ? [body.message] : body.messages;
    const idText = body.kind === 'single' ? (body.message.idText ?? absentId('2024-11-05')) : absentId('2024-11-05');
    const admitted = await deps.gate.named(ticket, sessionId, 'sse');
    if (admitted.kind !== 'session') {
      const refusal = admitted.kind === 'refusal' ? admitted.refusal : ({ reason: 'session-unknown' } as const);
      return refuse(out, refusal, ticket.xid, idText);
    }
    const { session } = admitted;
    if (body.kind === 'batch') {
      const wrong = checkBatch(messages, callerOf(session).revision);
      if (wrong !== null) return refuse(out, wrong, ticket.xid, idText);
    }
    const held = await deps.outbox.held(session).catch(() => null);
    if (held === null) return refuse(out, { reason: 'unreadable' }, ticket.xid, idText);
    if (!held) {
      await deps.endSession(session).catch((error: unknown) => deps.failed('session end', error));
      return refuse(out, { reason: 'session-unknown' }, ticket.xid, idText);
    }
    // An answer is taken before the 202 says so.
    const refusal = await takeAnswers(ticket, session, messages);
    if (refusal !== null) return refuse(out, refusal, ticket.xid, idText);
    out.empty(202);
    await take(ticket, session, messages);
  }

  async function takeAnswers(
    ticket: Authenticated,
    session: Session,
    messages: readonly Located[],
  ): Promise<Refusal | null> {
    let refusal: Refusal | null = null;
    for (const message of messages) {
      if (message.kind === 'response') refusal = (await deps.takeAnswer(ticket, session, message)) ?? refusal;
    }
    return refusal;
  }

  async function take(ticket: Authenticated, session: Session, messages: readonly Located[]): Promise<void> {
    const work = messages
      .filter((m) => m.kind === 'request')
      .map((message, i) => answer(ticket, session, message, i === 0 ? ticket.xid : `${ticket.xid}.${i}`));
    for (const message of messages) {
      if (message.kind === 'notification') await deps.notify(session, message, ticket);
    }
    await Promise.all(work);
  }

  async function answer(ticket: Authenticated, session: Session, message: Located, xid: string): Promise<void> {
    const kept = deps.keepCall(session, message, xid);
    // Events, questions and the response of one call keep their order, whichever way they go.
    let tail: Promise<unknown> = Promise.resolve();
    const send = (text: Uint8Array): Promise<void> => {
      const sending = tail.then(() => deps.outbox.send(session, text));
      tail = sending.catch((error: unknown) => deps.failed('stream log', error));
      return sending;
    };
    const voice: Voice = {
      event: (_xid, _seq, text) => void send(text).catch(() => undefined),
      say: send,
    };
    const response = await respond({ ticket, session, message, xid, voice, kept });
    if (response !== null && response !== 'left') await send(response).catch(() => undefined);
    await tail;
    await kept.end(false);
  }

  async function respond(terms: Terms): Promise<Response> {
    const { ticket, session, message, xid } = terms;
    const idText = message.idText ?? 'null';
    const { revision } = session.record;
    if (message.method === 'initialize' && revision === null) {
      const keep = deps.sessions.change.bind(deps.sessions, session);
      const done = await deps.initialize({ ticket, message, hash: session.hash, keep });
      return done.kind === 'response' ? done.response : refusalResponse(done.refusal, 'initialize', idText, xid);
    }
    if (revision === null && message.method !== 'ping') {
      return refusalResponse({ reason: 'session-missing' }, message.method ?? '', idText, xid);
    }
    return await deps.handle({ ...terms, caller: callerOf(session) });
  }

  return {
    open: openStream,
    post,
    async close() {
      await Promise.all([...open].map((end) => end()));
    },
  };
}
