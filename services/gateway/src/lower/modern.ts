// The modern leg: a 2026-07-28 request from its ladder to its reply (protocol.md Part 2). Holds nothing once the reply
// is out. The middle of the walk is `AnswerFn`; what comes back is modern already and is only stamped and framed.

import { stringOf } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities, Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { isLogLevel, type LogLevel } from '@lockkeeper/protocol/mcp/meta';
import { Roster } from '@lockkeeper/protocol/roster';
import type { Clock } from '@lockkeeper/state/clock';
import { type Envelope, tokenText } from '../era/envelope.ts';
import type { Refusal } from '../errors.ts';
import type { Answer, AnswerFn, AnswerListener, Attribution, Authenticated, Exchange } from '../exchange.ts';
import type { Headers, HttpOut, Located } from '../http/contract.ts';
import { refusesAsResult, renderErrorText, retryHeaders, statusOf, toolErrorMembers } from '../http/refuse.ts';
import { Leaving, type Signal } from '../leaving.ts';
import type { ModernListens } from '../listen/modern.ts';
import type { Log } from '../observe/logger.ts';
import type { Recorder, Recording } from '../observe/recorder.ts';
import { mergeTrace } from '../observe/trace.ts';
import { askFrom, nameOf } from './ask.ts';
import { readDeclared } from './declared.ts';
import { passesFilter, progressGate } from './events.ts';
import { createModernFrames, type ModernFrames } from './modern-frames.ts';
import { climb } from './modern-ladder.ts';
import { createModernReply, type ModernReply } from './modern-reply.ts';

export interface ModernLeg {
  post(ticket: Authenticated, headers: Headers, message: Located, envelope: Envelope, out: HttpOut): Promise<void>;
  /** Aborts what is still under way: the end of a drain. */
  abort(): void;
}

export interface ModernDeps {
  readonly answer: AnswerFn;
  readonly serverInfo: Implementation;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Streams of their own, which are no answers. */
  readonly listens?: Pick<ModernListens, 'serve'> | undefined;
}

export function createModernLeg(deps: ModernDeps): ModernLeg {
  const frames = createModernFrames(deps.serverInfo);
  const open = new Roster<Leaving>();
  return {
    async post(ticket, headers, message, envelope, out) {
      // Header rules are undefined for notifications; cancelling is done by closing (protocol.md §2.2, §2.5).
      if (message.kind === 'notification') return out.empty(202);
      if (message.method === 'subscriptions/listen' && deps.listens !== undefined) {
        return deps.listens.serve({ ticket, headers, message, envelope, out });
      }
      const turn = begin(deps, frames, ticket, message, envelope, out);
      const refusal = climb({ route: ticket.route, headers, message, envelope });
      if (refusal !== null) return turn.refuse(refusal);
      const leaving = new Leaving();
      open.add(leaving);
      out.onVanish(() => {
        turn.vanish();
        leaving.abort();
      });
      if (leaving.aborted) return void open.delete(leaving);
      try {
        const exchange = exchangeOf(ticket, message, envelope, turn.recording, leaving);
        const ask = askFrom(message, envelope, headers);
        turn.settle(await deps.answer(exchange, ask, turn.listen(exchange.logLevel)));
      } catch (error) {
        deps.log.error('an answer failed in an unexpected way', { xid: ticket.xid, error });
        turn.refuse({ reason: 'internal' });
      } finally {
        open.delete(leaving);
      }
    },
    abort() {
      for (const leaving of open.all()) leaving.abort();
    },
  };
}

const NOTHING: ClientCapabilities = Object.freeze({});

function exchangeOf(
  ticket: Authenticated,
  { bytes }: Located,
  envelope: Envelope,
  recording: Recording,
  signal: Signal,
): Exchange {
  const declared = envelope.capabilities === undefined ? null : readDeclared(bytes, envelope.capabilities);
  const level = stringOf(bytes, envelope.logLevel);
  return {
    ...ticket,
    trace: recording.trace,
    era: 'modern',
    revision: envelope.revision ?? '',
    session: null,
    capabilities: declared?.kind === 'capabilities' ? declared.capabilities : NOTHING,
    ...(isLogLevel(level) ? { logLevel: level } : {}),
    signal,
    onVanish: 'cancel',
  };
}

/** One request's way out: exactly one of settle, refuse and vanish has an effect. */
interface Turn {
  readonly recording: Recording;
  listen(level: LogLevel | undefined): AnswerListener;
  settle(answer: Answer): void;
  refuse(refusal: Refusal, told?: Attribution): void;
  vanish(): void;
}

function begin(
  deps: ModernDeps,
  frames: ModernFrames,
  ticket: Authenticated,
  message: Located,
  envelope: Envelope,
  out: HttpOut,
): Turn {
  const method = message.method ?? '';
  const id = message.idText ?? '';
  const token = tokenText(message.bytes, envelope.progressToken);
  const { limits } = ticket.snapshot;
  const wantsEvents = token !== undefined || envelope.logLevel !== undefined;
  const reply = createModernReply(out, deps.clock, limits, wantsEvents);
  const recording = deps.recorder.begin(ticket, {
    era: 'modern',
    revision: envelope.revision ?? null,
    method,
    name: nameOf(message, method),
    bytesIn: message.bytes.length,
    trace: mergeTrace(ticket.trace, envelope.trace),
  });
  const finish = (
    status: number,
    frame: readonly Uint8Array[],
    outcome: string,
    told: Attribution,
    headers?: Record<string, string>,
  ) => {
    const sent = reply.streaming ? 200 : status;
    reply.finish(status, frame, headers);
    const { server, rule, continues, detail } = told;
    const bytesOut = frame.reduce((sum, piece) => sum + piece.length, 0);
    recording.end({ outcome, status: sent, bytesOut, server, rule, continues, detail });
  };
  const refuse = (refusal: Refusal, told: Attribution = {}) => {
    if (refusesAsResult(method, refusal)) {
      const { members, meta } = toolErrorMembers(refusal, ticket.xid);
      return finish(200, frames.result(id, { resultType: 'complete', members, meta }), refusal.reason, told);
    }
    const frame = renderErrorText(refusal, id, ticket.xid);
    return finish(statusOf(refusal), [frame], refusal.reason, told, retryHeaders(refusal));
  };
  return {
    recording,
    refuse,
    listen: (level) => listen(frames, reply, token, level),
    settle(answer) {
      if (answer.kind === 'refusal') return refuse(answer.refusal, answer);
      finish(200, frames.result(id, answer), outcomeOf(answer.resultType), answer);
    },
    vanish() {
      reply.drop();
      recording.end({ outcome: 'vanished', status: null, bytesOut: 0 });
    },
  };
}

/** A question is no end of the call, and its row says so; anything else that was answered is well. */
function outcomeOf(resultType: string): string {
  return resultType === 'input_required' ? 'input-required' : 'ok';
}

/** Progress goes out under the client's own token, and only if it gave one; logs only from its level up (GB-084). */
function listen(
  frames: ModernFrames,
  reply: ModernReply,
  token: string | undefined,
  level: LogLevel | undefined,
): AnswerListener {
  const rises = progressGate();
  return {
    event(method, members) {
      if (method === 'notifications/progress') {
        if (token !== undefined && rises(members)) reply.event(frames.progress(token, members));
      } else if (method === 'notifications/message') {
        if (level !== undefined && passesFilter(members, level)) reply.event(frames.log(members));
      }
    },
  };
}
