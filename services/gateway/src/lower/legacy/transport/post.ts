// POST on the MCP path (protocol.md §3.1, §3.2, §3.6): one message, or a 2025-03-26 batch.

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { isLegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import type { Refusal } from '../../../errors.ts';
import type { Authenticated } from '../../../exchange.ts';
import type { Headers, HttpOut, LegacyBody, LegacyLeg, Located } from '../../../http/contract.ts';
import { sessionHash } from '../../../session/id.ts';
import type { Sessions } from '../../../session/sessions.ts';
import type { LegacyCaller } from '../contract.ts';
import type { Gate } from '../gate.ts';
import type { Handle } from '../handle.ts';
import type { createInitialize } from '../initialize.ts';
import type { Notify } from '../notify.ts';
import { takeResponse } from '../questions.ts';
import { absentId, refusalResponse, refuse } from '../refusal.ts';
import { checkBatch } from './batch.ts';
import { type Form, formOf } from './form.ts';
import { createReply } from './reply.ts';

export interface PostDeps {
  readonly config: ConfigSource;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly gate: Gate;
  readonly handle: Handle;
  readonly notify: Notify;
  readonly initialize: ReturnType<typeof createInitialize>;
}

export function createPost(deps: PostDeps): LegacyLeg['post'] {
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
    if (!messages.some((m) => m.kind === 'request')) return await listen(caller, messages, out);
    const form = formOf(out, headers);
    if (form === null) return refuse(out, { reason: 'not-acceptable' }, ticket.xid, idTextOf(body, headers));
    await answer(ticket, caller, messages, form, body.kind === 'batch', out);
  };

  async function listen(caller: LegacyCaller, messages: readonly Located[], out: HttpOut): Promise<void> {
    for (const message of messages) {
      if (message.kind === 'response') takeResponse();
      else await deps.notify(caller.session, message);
    }
    out.empty(202);
  }

  async function answer(
    ticket: Authenticated,
    caller: LegacyCaller,
    messages: readonly Located[],
    form: Form,
    batch: boolean,
    out: HttpOut,
  ): Promise<void> {
    const reply = createReply(out, { form, batch, holdMs: holdMs() }, deps.clock);
    const emit = form === 'json' ? null : reply.event;
    const calls = messages
      .filter((m) => m.kind === 'request')
      .map(async (message, i) => {
        const xid = i === 0 ? ticket.xid : `${ticket.xid}.${i}`;
        reply.answer(await deps.handle({ ticket, caller, message, xid, emit }));
      });
    // After the calls have begun, so that a batch may cancel its own element.
    for (const message of messages) if (message.kind === 'notification') await deps.notify(caller.session, message);
    await Promise.all(calls);
    reply.end();
  }

  /** A session id that comes with `initialize` is not looked at: the client begins anew (protocol.md §3.3). */
  async function greet(ticket: Authenticated, headers: Headers, message: Located, out: HttpOut): Promise<void> {
    const form = formOf(out, headers);
    const idText = message.idText ?? undefined;
    if (form === null) return refuse(out, { reason: 'not-acceptable' }, ticket.xid, idText);
    const id = deps.sessions.mint();
    let opened = false;
    // A stream may begin before the outcome is known; JSON carries the id only of a session that has come to be.
    const named = (as: 'json' | 'sse') => (opened || as === 'sse' ? { [HEADER.session]: id } : NO_HEADERS);
    const reply = createReply(out, { form, batch: false, holdMs: holdMs(), headers: named }, deps.clock);
    const done = await deps.initialize({
      ...{ ticket, message, hash: sessionHash(id) },
      keep: async (greeting) => {
        if (reply.gone) return { kind: 'unknown' }; // nobody will ever show the id
        const kept = await deps.sessions.open(ticket, id, { transport: 'streamable', ...greeting });
        opened = kept.kind === 'found';
        return kept;
      },
    });
    if (done.kind === 'refusal' && !out.committed && !reply.gone && isOurs(done.refusal)) {
      reply.abandon();
      return refuse(out, done.refusal, ticket.xid, idText);
    }
    reply.answer(
      done.kind === 'response'
        ? done.response
        : refusalResponse(done.refusal, 'initialize', idText ?? 'null', ticket.xid),
    );
    reply.end();
  }
}

const NO_HEADERS: Record<string, string> = {};

/** Refusals of our own state keep their status, so that clients and balancers back off (GB-142). */
function isOurs(refusal: Refusal): boolean {
  return refusal.reason === 'unreadable' || refusal.reason === 'too-many';
}

function idTextOf(body: LegacyBody, headers: Headers): string | undefined {
  const own = body.kind === 'single' ? body.message.idText : null;
  if (own !== null) return own;
  const version = headers[HEADER.version];
  return absentId(typeof version === 'string' && isLegacyRevision(version) ? version : undefined);
}
