// A client's answer to a wire request of ours, on whichever replica it arrives (protocol.md §5.3 "client's answer POST",
// design §4): taken once, handed to the node as a retry of the exchange, and let go when the node has it. Whoever holds
// the call's stream hears the outcome. What was answered is neither stored nor logged.

import { findMember, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Refusal } from '../../../errors.ts';
import type { Answer, AnswerFn, Authenticated } from '../../../exchange.ts';
import type { Located } from '../../../http/contract.ts';
import type { Recorder } from '../../../observe/recorder.ts';
import type { Belongings } from '../../../session/belongings.ts';
import { callKey, wireKey } from '../../../session/keys.ts';
import type { Session } from '../../../session/record.ts';
import { readRound } from '../downlevel/input-request.ts';
import { raiseResponse } from '../downlevel/question.ts';
import { exchangeOf } from '../forward.ts';
import { callerOf } from '../gate.ts';
import type { WireRecord } from './asking.ts';
import { locateAgain, nextAsk } from './rebuild.ts';
import type { CallRecord } from './record.ts';
import { whoseWireId } from './wire-id.ts';

/** Null: taken, whether it was of any use or not. A refusal: try again later. */
export type TakeAnswer = (ticket: Authenticated, session: Session | null, message: Located) => Promise<Refusal | null>;

export interface TakeAnswerDeps {
  readonly store: Store;
  readonly belongings: Belongings;
  readonly answer: AnswerFn;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

const TRIES = 5;
const PAUSE_MS = 150;
/** A node that says nothing for so long has not taken it. */
const ACCEPT_MS = 15_000;
const MAX_WORDS = 1024;

type Handed = 'accepted' | 'useless' | 'unreachable';

export function createTakeAnswer(deps: TakeAnswerDeps): TakeAnswer {
  const { store, belongings, clock } = deps;

  return async function takeAnswer(ticket, session, message) {
    const whose = session === null ? null : whoseWireId(message.id, session.hash);
    if (session === null || whose === null) return null;
    if (whose === 'foreign') {
      audit(ticket, message);
      return null;
    }
    const { tenant } = session.record;
    const wireId = String(message.id);
    const key = wireKey(tenant, session.id, wireId);
    try {
      const text = await store.take(key);
      if (text === null) return null; // answered before, withdrawn, or over
      const handed = await hand(ticket, session, JSON.parse(text) as WireRecord, message);
      if (handed !== 'unreachable') {
        await belongings.remove(session, key);
        return null;
      }
      // The node has not got it, or will see by itself that it has: this client may answer again.
      await store.setIfAbsent(key, text, belongings.lifeMs());
      return { reason: 'unavailable' };
    } catch (error) {
      deps.failed('answer', error);
      return { reason: 'unreadable' };
    }
  };

  async function hand(ticket: Authenticated, session: Session, wire: WireRecord, message: Located): Promise<Handed> {
    const response = responseTo(wire, message);
    if (wire.opened !== undefined && isAccept(response)) {
      await belongings.set(session, wire.opened, '1');
    }
    const text = await store.get(callKey(session.record.tenant, session.id, wire.xid));
    const record = text === null ? null : (JSON.parse(text) as CallRecord);
    const request = record === null ? null : locateAgain(record.message);
    if (record === null || request === null) return 'useless';
    let { state } = record;
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await pause(PAUSE_MS * 2 ** tries);
      const ask = nextAsk(request, { state, answers: new Map([[wire.key, response]]) });
      const answer = await accepted(ticket, session, wire.xid, ask);
      if (answer === 'accepted') return 'accepted';
      if (answer === 'silent') continue;
      if (answer.kind === 'refusal') {
        if (PASSING.has(answer.refusal.reason)) continue;
        return 'useless';
      }
      // Not accepted, since the round has moved on: once more with the new one, if this is still asked.
      if (answer.resultType !== 'input_required') return 'useless';
      const round = readRound(answer.members);
      if (!round.requests.some((r) => r.key === wire.key)) return 'useless';
      state = round.state ?? state;
    }
    return 'unreachable';
  }

  /** Leaves the exchange as soon as the node has the answers: the outcome is the stream holder's. */
  async function accepted(
    ticket: Authenticated,
    session: Session,
    xid: string,
    ask: ReturnType<typeof nextAsk>,
  ): Promise<'accepted' | 'silent' | Answer> {
    const leaving = new AbortController();
    const exchange = exchangeOf({ ticket, caller: callerOf(session), xid }, ticket.trace, leaving.signal);
    return await new Promise((settle) => {
      const timer = clock.setTimer(ACCEPT_MS, () => end('silent'));
      function end(how: 'accepted' | 'silent' | Answer): void {
        timer.clear();
        settle(how);
        leaving.abort();
      }
      const listener = { event: () => undefined, accepted: () => end('accepted') };
      deps.answer(exchange, ask, listener).then(end, () => end('silent'));
    });
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      clock.setTimer(ms, resume);
    });
  }

  function audit(ticket: Authenticated, { span }: Located): void {
    deps.recorder.turnedAway({
      ...{ xid: ticket.xid, tenant: ticket.route.tenant, route: ticket.route.path, ticket },
      ...{ outcome: 'foreign-answer', status: 202, bytesIn: span.end - span.start, arrivedAt: ticket.arrivedAt },
    });
  }
}

const PASSING: ReadonlySet<Refusal['reason']> = new Set(['unavailable', 'lost', 'too-many', 'internal']);

/** The raw input response. A refusal has a place in elicitation only (protocol.md §1.7 "reject", §5.3). */
function responseTo(wire: WireRecord, { bytes, members }: Located): Uint8Array | string {
  const result = findMember(members, 'result');
  if (result?.kind === 'object') return raiseResponse(bytes, result, membersOf(bytes, result));
  if (wire.method === 'elicitation/create') return '{"action":"cancel"}';
  const error = findMember(members, 'error');
  const said = error?.kind === 'object' ? (parseSpan(bytes, error) as { code?: unknown; message?: unknown }) : {};
  const code = Number.isInteger(said.code) ? said.code : -32603;
  const words = typeof said.message === 'string' ? said.message.slice(0, MAX_WORDS) : 'The client did not answer.';
  return JSON.stringify({ 'lk/error': { code, message: words } });
}

function isAccept(response: Uint8Array | string): boolean {
  if (typeof response === 'string') return false;
  const action = findMember(membersOf(response, { start: 0, end: response.length }), 'action');
  return stringOf(response, action) === 'accept';
}
