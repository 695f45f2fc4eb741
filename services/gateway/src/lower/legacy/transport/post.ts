// POST on the MCP path (protocol.md §3.1, §3.2, §3.6): one message, or a 2025-03-26 batch.

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { atLeast, isLegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import type { Refusal } from '../../../errors.ts';
import type { Authenticated } from '../../../exchange.ts';
import type { Headers, HttpOut, LegacyBody, LegacyLeg, Located, SseStream } from '../../../http/contract.ts';
import { statusOf } from '../../../http/refuse.ts';
import { type Random, sessionHash } from '../../../session/id.ts';
import type { Session } from '../../../session/record.ts';
import type { Opened, Sessions } from '../../../session/sessions.ts';
import type { LegacyCall, LegacyCaller } from '../contract.ts';
import type { Gate } from '../gate.ts';
import type { Handle } from '../handle.ts';
import type { createInitialize, Initialized } from '../initialize.ts';
import type { Notify } from '../notify.ts';
import type { TakeAnswer } from '../questions/answers.ts';
import type { KeepCall, KeptCall } from '../questions/record.ts';
import { absentId, refusalResponse, refuse, writeRefusal } from '../refusal.ts';
import { type Channel, type LoggedDeps, loggedChannel } from '../stream/channel.ts';
import { mintStream } from '../stream/event-id.ts';
import { checkBatch } from './batch.ts';
import { type Form, formOf } from './form.ts';
import { createReply } from './reply.ts';

export interface PostDeps {
  readonly config: ConfigSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly sessions: Sessions;
  readonly gate: Gate;
  readonly handle: Handle;
  readonly notify: Notify;
  readonly initialize: ReturnType<typeof createInitialize>;
  readonly takeAnswer: TakeAnswer;
  readonly keepCall: KeepCall;
  readonly channels: LoggedDeps;
  readonly failed: (what: string, error: unknown) => void;
}

interface Numbered {
  readonly message: Located;
  readonly xid: string;
  readonly kept: KeptCall | null;
}

export function createPost(deps: PostDeps): LegacyLeg['post'] {
  const { failed } = deps;
  const holdMs = () => deps.config.current().limits.holdMs;

  return async function post(ticket, headers, body, out) {
    if (body.kind === 'single' && body.message.kind === 'request' && body.message.method === 'initialize') {
      return await greet(ticket, headers, body.message, out);
    }
    const messages = body.kind === 'single' ? [body.message] : body.messages;
    const gated = await deps.gate.caller(ticket, headers, messages);
    if (gated.kind === 'refusal') return refuse(out, gated.refusal, ticket.xid, idTextOf(body, headers));
    const { caller } = gated;
    const wrong = body.kind === 'batch' ? checkBatch(messages, caller.revision) : null;
    if (wrong !== null) return refuse(out, wrong, ticket.xid, absentId(caller.revision));
    if (!messages.some((m) => m.kind === 'request')) return await listen(ticket, caller, messages, out);
    const form = formOf(out, headers);
    if (form === null) return refuse(out, { reason: 'not-acceptable' }, ticket.xid, idTextOf(body, headers));
    await answer(ticket, caller, messages, form, body.kind === 'batch', out);
  };

  async function listen(
    ticket: Authenticated,
    caller: LegacyCaller,
    messages: readonly Located[],
    out: HttpOut,
  ): Promise<void> {
    let refusal: Refusal | null = null;
    for (const message of messages) {
      if (message.kind === 'response') refusal = (await deps.takeAnswer(ticket, caller.session, message)) ?? refusal;
      else await deps.notify(caller.session, message, ticket);
    }
    if (refusal === null) out.empty(202);
    else refuse(out, refusal, ticket.xid, absentId(caller.revision));
  }

  async function answer(
    ticket: Authenticated,
    caller: LegacyCaller,
    messages: readonly Located[],
    form: Form,
    batch: boolean,
    out: HttpOut,
  ): Promise<void> {
    const { session } = caller;
    const calls = messages
      .filter((m) => m.kind === 'request')
      .map((message, i): Numbered => {
        const xid = i === 0 ? ticket.xid : `${ticket.xid}.${i}`;
        return {
          message,
          xid,
          kept: session === null || form === 'json' ? null : deps.keepCall(session, message, xid),
        };
      });
    const channel = session === null ? undefined : logged(session, caller.revision, calls);
    const terms = { form, batch, holdMs: holdMs(), closeAfterMs: closeAfterMs(ticket, caller), channel, failed };
    const reply = createReply(out, terms, deps.clock);
    const answering = calls.map(async (one) => {
      const call: LegacyCall = { ticket, caller, voice: reply.voice, ...one };
      reply.answer(call.xid, await deps.handle(call));
    });
    // After the calls have begun, so that a batch may cancel its own element.
    for (const message of messages)
      if (message.kind === 'notification') await deps.notify(caller.session, message, ticket);
    await Promise.all(answering);
    reply.end();
  }

  /** The stream of this POST, resumable anywhere. Its calls are written down when it begins, not before. */
  function logged(session: Session, revision: string, calls: readonly Numbered[]): (socket: SseStream) => Channel {
    return (socket) =>
      loggedChannel(deps.channels, socket, {
        session,
        stream: mintStream('post', deps.random),
        calls: calls.flatMap(({ xid, kept }) => (kept === null ? [] : [{ xid, kept }])),
        primes: atLeast(revision, '2025-11-25'),
      });
  }

  /** A session id that comes with `initialize` is not looked at: the client begins anew (protocol.md §3.3). */
  async function greet(ticket: Authenticated, headers: Headers, message: Located, out: HttpOut): Promise<void> {
    const form = formOf(out, headers);
    const idText = message.idText ?? undefined;
    if (form === null) return refuse(out, { reason: 'not-acceptable' }, ticket.xid, idText);
    const id = deps.sessions.mint();
    let opened = false;
    // JSON carries the id only of a session that has come to be. A stream may have to begin before the outcome is known
    // (GB-074): then the id is out, and if this fails it is one that is answered 404 (protocol.md §3.3).
    const named = (as: 'json' | 'sse') => (opened || as === 'sse' ? { [HEADER.session]: id } : NO_HEADERS);
    const reply = createReply(out, { form, batch: false, holdMs: holdMs(), headers: named, failed }, deps.clock);
    const done = await deps.initialize({
      ...{ ticket, message, hash: sessionHash(id) },
      keep: async (greeting) => {
        if (reply.gone()) return GONE;
        const kept = await deps.sessions.open(ticket, id, { transport: 'streamable', ...greeting });
        if (kept.kind !== 'found') return kept;
        if (reply.gone()) {
          await deps.sessions.end(kept.session).catch((error: unknown) => failed('session end', error));
          return GONE;
        }
        opened = true;
        return kept;
      },
      status: (outcome) => (reply.gone() ? null : refusesAll(outcome, out) ? statusOf(outcome.refusal) : 200),
    });
    if (!reply.gone() && refusesAll(done, out)) {
      reply.abandon();
      return writeRefusal(out, done.refusal, ticket.xid, idText);
    }
    reply.answer(
      ticket.xid,
      done.kind === 'response'
        ? done.response
        : refusalResponse(done.refusal, 'initialize', idText ?? 'null', ticket.xid),
    );
    reply.end();
  }
}

const NO_HEADERS: Record<string, string> = {};

/** Nobody will ever show the id. */
const GONE: Opened = { kind: 'unknown' };

/** Polling came with 2025-11-25 (protocol.md §3.2 "SSE close before response"). */
function closeAfterMs({ route }: Authenticated, { session, revision }: LegacyCaller): number | undefined {
  const polls = route.closeStreamsAfterMs > 0 && session !== null && atLeast(revision, '2025-11-25');
  return polls ? route.closeStreamsAfterMs : undefined;
}

function refusesAll(done: Initialized, out: HttpOut): done is Extract<Initialized, { kind: 'refusal' }> {
  return done.kind === 'refusal' && !out.committed && isOurs(done.refusal);
}

/** Refusals of our own state keep their status, so that clients and balancers back off (GB-142). */
function isOurs(refusal: Refusal): boolean {
  return refusal.reason === 'unreadable' || refusal.reason === 'too-many';
}

function idTextOf(body: LegacyBody, headers: Headers): string | undefined {
  const own = body.kind === 'single' ? body.message.idText : null;
  if (own !== null) return own;
  const version = headers[HEADER.version];
  // The header came with 2025-06-18: who sends none is older (protocol.md §3.2).
  if (version === undefined) return absentId('2025-03-26');
  return absentId(typeof version === 'string' && isLegacyRevision(version) ? version : undefined);
}
