// One request of a legacy client to its response: methods that the gateway answers itself (protocol.md §3.5), those
// its revision does not have, and everything else through `forward`. Each is one exchange in the record.

import { findMember, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { isLogLevel } from '@lockkeeper/protocol/mcp/meta';
import { LEGACY_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { readEnvelope } from '../../era/envelope.ts';
import type { Refusal } from '../../errors.ts';
import { byteLength } from '../../http/pieces.ts';
import type { Recorder } from '../../observe/recorder.ts';
import { mergeTrace } from '../../observe/trace.ts';
import type { Session } from '../../session/record.ts';
import type { Sessions } from '../../session/sessions.ts';
import { nameOf } from '../ask.ts';
import type { LegacyCall, Response } from './contract.ts';
import type { createForward, Forwarded } from './forward.ts';
import { refusalResponse } from './refusal.ts';
import type { Subscriptions } from './subscriptions.ts';
import { resultText } from './text.ts';
import type { Watches } from './watch/contract.ts';

export interface HandleDeps {
  readonly recorder: Recorder;
  readonly sessions: Sessions;
  readonly subscriptions: Subscriptions;
  /** Null: nobody is told of changes. */
  readonly watches: Watches | null;
  readonly forward: ReturnType<typeof createForward>;
  readonly failed: (what: string, error: unknown) => void;
}

export type Handle = (call: LegacyCall) => Promise<Response>;

/** `forward` with the envelope and trace of this request. */
type Onward = (call: LegacyCall) => Promise<Forwarded>;

/** Capability `tasks` is offered to legacy clients where the route bridges it (protocol.md §5.3 "tasks"). */
function exists(method: string, { caller, ticket }: LegacyCall): boolean {
  const facts = LEGACY_METHODS.get(method);
  if (facts === undefined || (facts.capability === 'tasks' && !ticket.route.legacyTasks)) return false;
  return atLeast(caller.revision, facts.since);
}

export function createHandle(deps: HandleDeps): Handle {
  return async function handle(call) {
    const { ticket, caller, message } = call;
    const method = message.method ?? '';
    const envelope = readEnvelope(message);
    if (caller.session !== null) deps.watches?.seen(caller.session, ticket);
    const recording = deps.recorder.begin(
      { ...ticket, xid: call.xid },
      {
        era: 'legacy',
        revision: caller.revision,
        method,
        name: nameOf(message, method),
        bytesIn: message.span.end - message.span.start,
        trace: mergeTrace(ticket.trace, envelope.trace),
      },
    );
    const done = await answerOf(call, method, (of) => deps.forward(of, envelope, recording.trace));
    const { response, outcome, server, rule, detail } = done;
    const bytesOut = response === null || response === 'left' ? 0 : byteLength(response);
    recording.end({ outcome, status: 200, bytesOut, server, rule, detail });
    return response;
  };

  async function answerOf(call: LegacyCall, method: string, forward: Onward): Promise<Forwarded> {
    try {
      if (!exists(method, call)) return refused(call, { reason: 'unknown-method' });
      switch (method) {
        case 'initialize':
          return refused(call, TWICE);
        case 'ping':
          return empty(call);
        case 'logging/setLevel':
          return await setLevel(call);
        case 'resources/subscribe':
        case 'resources/unsubscribe':
          return await subscription(call, method, forward);
        default:
          return await forward(call);
      }
    } catch (error) {
      deps.failed(`legacy ${method}`, error);
      return refused(call, { reason: 'internal' });
    }
  }

  async function setLevel(call: LegacyCall): Promise<Forwarded> {
    const member = findMember(call.message.params, 'level');
    const level = member === undefined ? undefined : parseSpan(call.message.bytes, member);
    if (!isLogLevel(level)) return refused(call, { reason: 'invalid-params', message: 'level is not a log level.' });
    const { session } = call.caller;
    if (session === null) return refused(call, { reason: 'session-missing' });
    const changed = await deps.sessions.change(session, { logLevel: level });
    if (changed.kind === 'found') return empty(call);
    return refused(call, { reason: changed.kind === 'unknown' ? 'session-unknown' : 'unreadable' });
  }

  /**
   * Answered once the acknowledgement covers the URI (protocol.md §5.3 "resources/subscribe"); where nobody is told of
   * changes, the server itself is asked.
   */
  async function subscription(call: LegacyCall, method: string, forward: Onward): Promise<Forwarded> {
    const { session } = call.caller;
    const uri = stringOf(call.message.bytes, findMember(call.message.params, 'uri'));
    if (session === null) return refused(call, { reason: 'session-missing' });
    if (uri === undefined) return refused(call, { reason: 'invalid-params', message: 'params.uri must be a string.' });
    if (deps.watches !== null) return await watched(call, deps.watches, session, method, uri);
    const answered = await forward(call);
    if (answered.outcome !== 'ok') return answered;
    return await remember(call, session, method, uri);
  }

  async function watched(
    call: LegacyCall,
    watches: Watches,
    session: Session,
    method: string,
    uri: string,
  ): Promise<Forwarded> {
    if (method === 'resources/unsubscribe') {
      await watches.unsubscribe(session, uri);
      return empty(call);
    }
    const refusal = await watches.subscribe(session, call.ticket, uri);
    return refusal === null ? empty(call) : refused(call, refusal);
  }

  async function remember(call: LegacyCall, session: Session, method: string, uri: string): Promise<Forwarded> {
    if (method === 'resources/unsubscribe') await deps.subscriptions.remove(session, uri);
    else if (!(await deps.subscriptions.add(session, uri))) return refused(call, { reason: 'too-many' });
    return empty(call);
  }
}

const TWICE: Refusal = {
  reason: 'invalid-request',
  message: 'initialize comes once, and never in a batch.',
  next: 'Send it alone, before anything else.',
};

function empty(call: LegacyCall): Forwarded {
  return { response: resultText(call.message.idText ?? 'null', ['{}']), outcome: 'ok' };
}

function refused(call: LegacyCall, refusal: Refusal): Forwarded {
  const { method, idText } = call.message;
  return { response: refusalResponse(refusal, method ?? '', idText ?? 'null', call.xid), outcome: refusal.reason };
}
