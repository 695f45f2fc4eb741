// The 2024-11-05 transport (protocol.md §3.7): POSTs are taken by any replica, every answer comes on the one stream
// (sse-stream.ts). Both verbs are authenticated and held against the session's principal (GB-011); the id in the URL is a
// name only. Before it says 202, a replica that does not hold the stream tells the one that does what it owes.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Refusal } from '../../../errors.ts';
import type { Authenticated } from '../../../exchange.ts';
import type { HttpOut, LegacyBody, Located } from '../../../http/contract.ts';
import type { Session } from '../../../session/record.ts';
import type { LegacyCall, Response, Voice } from '../contract.ts';
import { callerOf, type Gate } from '../gate.ts';
import type { Handle } from '../handle.ts';
import type { createInitialize } from '../initialize.ts';
import type { Notify } from '../notify.ts';
import type { TakeAnswer } from '../questions/answers.ts';
import { type KeepCall, type KeptCall, SSE_STREAM } from '../questions/record.ts';
import { absentId, refusalResponse, refuse } from '../refusal.ts';
import { checkBatch } from './batch.ts';
import type { OutEntry } from './outbox-entry.ts';
import { createSseStreams, type SseStreams, type SseStreamsDeps } from './sse-stream.ts';

export interface HttpSseDeps extends Omit<SseStreamsDeps, 'handle'> {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly handle: Handle;
  readonly notify: Notify;
  readonly initialize: ReturnType<typeof createInitialize>;
  readonly takeAnswer: TakeAnswer;
  readonly keepCall: KeepCall;
}

type Terms = Omit<LegacyCall, 'caller'> & { readonly session: Session };

/** One request of a POST, and what the store keeps of it. */
interface Taken {
  readonly ticket: Authenticated;
  readonly session: Session;
  readonly message: Located;
  readonly xid: string;
  readonly kept: KeptCall;
}

/** Of the stream that every answer comes on. */
const STREAM_STATUS = 200;
/** How often a replica that works for another's stream sees whether it is held yet. */
const HOLDER_LOOK_MS = 5_000;

export interface HttpSse extends SseStreams {
  post(ticket: Authenticated, sessionId: string, body: LegacyBody, out: HttpOut): Promise<void>;
}

export function createHttpSse(deps: HttpSseDeps): HttpSse {
  const { open, close } = createSseStreams({
    ...deps,
    handle: async (call) => {
      const { session } = call.caller;
      return session === null ? 'left' : await respond({ ...call, session });
    },
  });

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
    const calls = messages
      .filter((m) => m.kind === 'request')
      .map((message, i): Taken => {
        const xid = i === 0 ? ticket.xid : `${ticket.xid}.${i}`;
        return { ticket, session, message, xid, kept: deps.keepCall(session, message, xid) };
      });
    try {
      if (!deps.outbox.here(session)) await Promise.all(calls.map(owe));
    } catch (error) {
      deps.failed('call record', error);
      for (const { kept } of calls) await kept.end(false).catch(() => undefined);
      return refuse(out, { reason: 'unreadable' }, ticket.xid, idText);
    }
    out.empty(202);
    const answering = calls.map(answer);
    // After the calls have begun, so that a batch may cancel its own element.
    for (const message of messages) {
      if (message.kind === 'notification') await deps.notify(session, message, ticket);
    }
    await Promise.all(answering);
  }

  /** Before the 202: the holder of the stream knows what to answer if this replica does not live to. */
  async function owe({ session, message, xid, kept }: Taken): Promise<void> {
    await kept.save({ stream: SSE_STREAM });
    const text = JSON.stringify({ idText: message.idText ?? 'null', method: message.method ?? '' });
    await deps.outbox.send(session, { kind: 'taken', xid, text });
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

  async function answer(taken: Taken): Promise<void> {
    const { session, xid, kept } = taken;
    // Events, questions and the response of one call keep their order, whichever way they go.
    let tail: Promise<unknown> = Promise.resolve();
    const send = (entry: OutEntry): Promise<void> => {
      const sending = tail.then(() => deps.outbox.send(session, entry));
      tail = sending.catch((error: unknown) => deps.failed('stream log', error));
      return sending;
    };
    const voice: Voice = {
      event(_xid, seq, text) {
        send({ kind: 'event', xid, seq: seq ?? null, text }).catch(() => undefined);
      },
      say: (text, name) => send({ kind: 'said', xid, name, text }),
    };
    const unwatch = watchHolder(session);
    const response = await respond({ ...taken, voice }).finally(unwatch);
    if (response === 'left') return kept.leave();
    // Cancelled by the session's end: nobody reads it any more, and its keys are gone.
    const read = response !== null || (await deps.outbox.held(session).catch(() => true));
    if (read) await send({ kind: 'response', xid, text: response ?? '' }).catch(() => undefined);
    await tail;
    await kept.end(false);
  }

  /** The stream's loss ends the session, and nobody says so when its replica was killed (protocol.md §3.7). */
  function watchHolder(session: Session): () => void {
    if (deps.outbox.here(session)) return () => undefined;
    let timer: Timer | null = null;
    const again = (): void => {
      timer = deps.clock.setTimer(HOLDER_LOOK_MS, () => {
        look().catch((error: unknown) => deps.failed('stream holder', error));
      });
      timer.unref?.();
    };
    const look = async (): Promise<void> => {
      // A store that does not answer tells nothing.
      if (await deps.outbox.held(session).catch(() => true)) {
        if (timer !== null) again();
      } else await deps.endSession(session);
    };
    again();
    return () => {
      timer?.clear();
      timer = null;
    };
  }

  async function respond(terms: Terms): Promise<Response> {
    const { ticket, session, message, xid } = terms;
    const idText = message.idText ?? 'null';
    const { revision } = session.record;
    if (message.method === 'initialize' && revision === null) {
      const keep = deps.sessions.change.bind(deps.sessions, session);
      const done = await deps.initialize({ ticket, message, hash: session.hash, keep, status: () => STREAM_STATUS });
      return done.kind === 'response' ? done.response : refusalResponse(done.refusal, 'initialize', idText, xid);
    }
    if (revision === null && message.method !== 'ping') {
      return refusalResponse({ reason: 'session-missing' }, message.method ?? '', idText, xid);
    }
    return await deps.handle({ ...terms, caller: callerOf(session) });
  }

  return { open, post, close };
}
