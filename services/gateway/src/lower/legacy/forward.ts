// One legacy request through the middle of the walk and back: the ask is made, events, questions and answer are lowered
// to the caller's revision (protocol.md §5.3, §5.4). Asked something, the exchange is joined again at once (design §4
// amendment 5). Cancelled by the client: nothing more is said about it.

import { idKey } from '@lockkeeper/protocol/jsonrpc/message';
import type { TraceContext } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import { type Envelope, tokenText } from '../../era/envelope.ts';
import type { Refusal } from '../../errors.ts';
import type { Answer, AnswerFn, AnswerListener, Ask, Attribution, Exchange } from '../../exchange.ts';
import type { Signal } from '../../leaving.ts';
import type { Link } from '../../link/contract.ts';
import type { InFlight } from '../../session/in-flight.ts';
import type { LegacyCall, Response } from './contract.ts';
import { lowerResult } from './downlevel/result.ts';
import { createHearing } from './hearing.ts';
import { type Asking, type AskingDeps, createAsking, type Step } from './questions/asking.ts';
import { firstAsk, nextAsk } from './questions/rebuild.ts';
import { urlErrorResponse } from './questions/url-error.ts';
import { refusalResponse } from './refusal.ts';
import { resultText } from './text.ts';

export interface ForwardDeps {
  readonly answer: AnswerFn;
  readonly inFlight: InFlight;
  readonly link: Pick<Link, 'cancel'>;
  readonly asking: AskingDeps;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

export interface Forwarded extends Attribution {
  readonly response: Response;
  /** For the record: `ok`, `tool-error`, `cancelled`, `left` or a refusal's reason. */
  readonly outcome: string;
}

const CANCELLED: Forwarded = { response: null, outcome: 'cancelled' };
const LEFT: Forwarded = { response: 'left', outcome: 'left' };

export function createForward(deps: ForwardDeps) {
  return async function forward(call: LegacyCall, envelope: Envelope, trace: TraceContext): Promise<Forwarded> {
    const { caller, message } = call;
    const ending = new AbortController();
    let left = false;
    const done = deps.inFlight.begin(caller.session, {
      xid: call.xid,
      clientId: idKey(message.id ?? ''),
      taken: call.taken !== undefined,
      cancel() {
        cancelAtNode(call);
        ending.abort();
      },
      leave() {
        if (call.kept?.held !== true) return false;
        left = true;
        ending.abort();
        return true;
      },
    });
    const exchange = exchangeOf(call, trace, ending.signal);
    const asking = askingOf(call);
    try {
      const token = tokenText(message.bytes, envelope.progressToken) ?? null;
      const forwarded = await walk(call, exchange, asking, token);
      if (left || forwarded.response === 'left') {
        left = true;
        return LEFT;
      }
      return forwarded;
    } finally {
      done();
      if (!left) {
        const answered = !ending.signal.aborted;
        await asking?.settle(answered).catch((error: unknown) => deps.failed('wire requests', error));
      }
    }
  };

  function askingOf(call: LegacyCall): Asking | null {
    const { voice, kept } = call;
    const { session } = call.caller;
    return voice === null || kept === null || session === null
      ? null
      : createAsking(deps.asking, { call, session, voice, kept });
  }

  async function walk(
    call: LegacyCall,
    exchange: Exchange,
    asking: Asking | null,
    token: string | null,
  ): Promise<Forwarded> {
    const { signal } = exchange;
    const hearing = createHearing(call, token, signal, (serverId) => {
      asking?.completed(serverId).catch((error: unknown) => deps.failed('wire requests', error));
    });
    const begin = call.taken === undefined ? deps.answer : joined;
    let answer = await begin(exchange, askOf(call), hearing.listener);
    for (;;) {
      if (signal.aborted) return CANCELLED;
      if (!asksBack(answer)) return lowerAnswer(call, answer);
      const step = asking === null ? MUTE : await round(asking, call, answer);
      if (step.kind === 'left') return LEFT;
      if (step.kind === 'response') return { response: step.response, outcome: 'upstream' };
      if (step.kind !== 'again') return giveUp(call, step);
      await pause(step.afterMs, signal);
      if (signal.aborted) return CANCELLED;
      const ask = nextAsk(call.message, { ...step.again, fromSeq: hearing.lastSeq() });
      answer = await joined(exchange, ask, hearing.listener);
    }
  }

  async function round(asking: Asking, call: LegacyCall, answer: AskedBack): Promise<Step> {
    const { origin } = answer;
    if (origin?.wasUrlError === true) {
      const response = urlErrorResponse(call, answer.members, deps.asking.wireIds);
      if (response !== null) return { kind: 'response', response };
    }
    try {
      return await asking.round(answer.members, origin);
    } catch (error) {
      deps.failed('wire requests', error);
      return MUTE;
    }
  }

  /** A node that cannot be reached for a moment has not forgotten the exchange; one that has lost it says so. */
  async function joined(exchange: Exchange, ask: Ask, listener: AnswerListener): Promise<Answer> {
    for (let tries = 0; ; tries++) {
      const answer = await deps.answer(exchange, ask, listener);
      if (answer.kind !== 'refusal' || exchange.signal.aborted) return answer;
      const { reason } = answer.refusal;
      if (reason === 'bad-state') return { ...answer, refusal: { reason: 'lost' } };
      if (!PASSING.has(reason) || tries >= JOIN_TRIES) return answer;
      await pause(JOIN_MS * 2 ** tries, exchange.signal);
    }
  }

  async function pause(ms: number, signal: Signal): Promise<void> {
    if (ms <= 0 || signal.aborted) return;
    await new Promise<void>((resume) => {
      const timer = deps.clock.setTimer(ms, () => {
        signal.removeEventListener('abort', stop);
        resume();
      });
      const stop = (): void => {
        timer.clear();
        resume();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** The link lets a kept call go on when its stream closes (`onVanish`), so a cancel must say its name first. */
  function cancelAtNode({ ticket, caller, xid }: LegacyCall): void {
    const { principal } = ticket.caller;
    deps.link.cancel(principal.tenant, null, xid, principal, caller.session?.hash ?? null);
  }

  /** Nothing stays parked for a client that cannot be asked, and it is never told that its call is done (GB-063). */
  function giveUp(call: LegacyCall, step: Exclude<Step, { kind: 'again' | 'left' | 'response' }>): Forwarded {
    cancelAtNode(call);
    return step.kind === 'missing'
      ? refused(call, { reason: 'cannot-ask', message: `The server needs ${step.what}, which this client lacks.` })
      : refused(call, { reason: 'timeout', message: 'The server asked to be called again, and again.' });
  }
}

type AskedBack = Extract<Answer, { kind: 'result' }>;

function asksBack(answer: Answer): answer is AskedBack {
  return answer.kind === 'result' && answer.resultType === 'input_required';
}

/** JSON only, or nothing that an answer could come back to. */
const MUTE: Step = { kind: 'missing', what: 'to ask on an event stream of a session' };

const PASSING: ReadonlySet<Refusal['reason']> = new Set(['unavailable', 'lost', 'too-many']);
const JOIN_TRIES = 4;
const JOIN_MS = 200;

function askOf({ message, voice, taken }: LegacyCall): Ask {
  if (taken === undefined) return firstAsk(message, voice !== null);
  return nextAsk(message, { state: null, wait: true, fromSeq: taken.fromSeq });
}

function lowerAnswer(call: LegacyCall, answer: Answer): Forwarded {
  const { method, idText } = call.message;
  if (answer.kind === 'refusal') {
    // Cancelled on another replica: the node has said so before the hint came.
    if (answer.refusal.reason === 'cancelled') return CANCELLED;
    return { ...attributionOf(answer), ...refused(call, answer.refusal) };
  }
  if (answer.resultType !== 'complete') {
    const message = 'The server answered with a result of an unknown kind.';
    return refused(call, { reason: 'upstream-protocol', message });
  }
  const { members, meta } = answer;
  const result = lowerResult(method ?? '', call.caller.revision, members, meta, call.ticket.route.legacyTasks);
  return { ...attributionOf(answer), response: resultText(idText ?? 'null', result), outcome: 'ok' };
}

function attributionOf({ server, rule, detail }: Answer): Attribution {
  return {
    ...(server === undefined ? {} : { server }),
    ...(rule === undefined ? {} : { rule }),
    ...(detail === undefined ? {} : { detail }),
  };
}

function refused({ message, xid }: LegacyCall, refusal: Refusal): Forwarded {
  const { method, idText } = message;
  return { response: refusalResponse(refusal, method ?? '', idText ?? 'null', xid), outcome: refusal.reason };
}

export function exchangeOf(
  call: Pick<LegacyCall, 'ticket' | 'caller' | 'xid'>,
  trace: TraceContext,
  signal: AbortSignal,
): Exchange {
  const { ticket, caller } = call;
  return {
    ...ticket,
    xid: call.xid,
    trace,
    era: 'legacy',
    revision: caller.revision,
    session: caller.session?.hash ?? null,
    capabilities: caller.capabilities,
    ...(caller.logLevel === undefined ? {} : { logLevel: caller.logLevel }),
    signal,
    // A disconnect is not a cancel: the call goes on to its deadline (protocol.md §3.2).
    onVanish: 'keep',
  };
}
