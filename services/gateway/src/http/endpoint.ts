// The walk of one HTTP request, in its order (design §3): receive → authenticate → read the body → classify → the leg
// of its era. Authentication sees headers only, and until it has spoken no byte of a stranger's body is read. The legs
// do the rest of the walk (authorize → resolve → call) through `AnswerFn` and lower the answer themselves.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { classify, classifyLegacy } from '../era/classify.ts';
import type { Authenticated } from '../exchange.ts';
import { traceFromHeaders } from '../observe/trace.ts';
import { bodyBytes, readBody, refuseHead } from './body.ts';
import type { Answers, Arrived } from './door.ts';
import { type McpTarget, receive } from './receive.ts';
import type { TrackedOut } from './reply.ts';

export function createEndpoint(door: Answers): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { deps } = door;
  return async (request, response) => {
    const arrived = door.open(request, response);
    const { snapshot } = arrived;

    const received = receive(snapshot, arrived);
    if (received.kind !== 'received') return door.answerUnreceived(arrived, received);
    const { target, verb } = received;
    const out = door.reply(arrived, received.cors);

    const head = { rawHeaders: request.rawHeaders, query: received.query, connection: request.socket };
    const asked = deps.authenticator.authenticate(snapshot, target.place, head);
    const who = asked instanceof Promise ? await asked : asked;
    if (who.kind !== 'caller') return door.turnAway(arrived, out, target, who);
    const ticket = ticketOf(arrived, out, target, who.caller);

    if (target.kind === 'sse') return deps.legacy.sseOpen(ticket, request.headers, out);
    if (verb === 'GET') return deps.legacy.get(ticket, request.headers, out);
    if (verb === 'DELETE') return deps.legacy.delete(ticket, request.headers, out);

    const { limits } = snapshot;
    const unfit = refuseHead(request, limits.maxBodyBytes, out.accepts);
    if (unfit !== null) return door.refuse(arrived, out, ticket, { reason: unfit });
    const bytes = bodyBytes(request, limits.maxBodyBytes);
    const { principal } = ticket.caller;
    const entering = deps.intake.enter(principal, bytes, limits.queueMs, response);
    const entered = entering instanceof Promise ? await entering : entering;
    if (entered === 'gone') return;
    if (entered === 'late') return door.refuse(arrived, out, ticket, BUSY);
    const body = await readBody(request, limits.maxBodyBytes);
    deps.intake.read(principal, bytes);
    if (body.kind === 'gone') return;
    if (body.kind === 'refusal') {
      return door.refuse(arrived, out, ticket, { reason: body.reason }, { bytes: body.bytesRead });
    }

    const isMcp = target.kind === 'mcp';
    const classified = isMcp
      ? classify(body.bytes, request.headers, target.place.route, limits)
      : classifyLegacy(body.bytes, limits);
    if (classified.kind === 'refusal') {
      const idText = classified.idText ?? (isMcp ? undefined : 'null');
      return door.refuse(arrived, out, ticket, classified.refusal, { bytes: body.bytes.length, idText });
    }
    if (classified.kind === 'modern') {
      return deps.modern.post(ticket, request.headers, classified.message, classified.envelope, out);
    }
    if (isMcp) return deps.legacy.post(ticket, request.headers, classified.body, out);
    const sessionId = new URLSearchParams(received.query).get('sessionId') ?? '';
    return deps.legacy.ssePost(ticket, sessionId, classified.body, out);
  };
}

const BUSY = { reason: 'too-many', retryAfterMs: 1_000 } as const;

function ticketOf(
  arrived: Arrived,
  out: TrackedOut,
  target: McpTarget,
  caller: Authenticated['caller'],
): Authenticated {
  const { xid, snapshot, arrivedAt, headers } = arrived;
  const { replied } = out;
  return { xid, snapshot, route: target.place.route, caller, trace: traceFromHeaders(headers), arrivedAt, replied };
}
