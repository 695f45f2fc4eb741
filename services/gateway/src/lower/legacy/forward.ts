// One legacy request through the middle of the walk and back: the ask is made, events and answer are lowered to the
// caller's revision (protocol.md §5.3, §5.4). Cancelled by the client: nothing more is said about it.

import { idKey } from '@lockkeeper/protocol/jsonrpc/message';
import type { TraceContext } from '@lockkeeper/protocol/link/frames';
import { type Envelope, tokenText } from '../../era/envelope.ts';
import type { Answer, AnswerFn, Ask, Exchange } from '../../exchange.ts';
import type { Link } from '../../link/contract.ts';
import type { InFlight } from '../../session/in-flight.ts';
import { askFrom } from '../ask.ts';
import { progressGate } from '../events.ts';
import type { LegacyCall, Response } from './contract.ts';
import { lowerEvent } from './downlevel/event.ts';
import { lowerResult } from './downlevel/result.ts';
import { unansweredQuestions } from './questions.ts';
import { refusalResponse } from './refusal.ts';
import { resultText } from './text.ts';

export interface ForwardDeps {
  readonly answer: AnswerFn;
  readonly inFlight: InFlight;
  readonly link: Pick<Link, 'cancel'>;
}

export interface Forwarded {
  readonly response: Response;
  /** For the record: `ok`, `tool-error`, `cancelled` or a refusal's reason. */
  readonly outcome: string;
  readonly server?: string | undefined;
}

/** Params that mean something to the modern hop only, or to 2025-11-25 tasks, which are not bridged. */
const STRIPPED: ReadonlySet<string> = new Set(['task', 'inputResponses', 'requestState']);

export function createForward(deps: ForwardDeps) {
  return async function forward(call: LegacyCall, envelope: Envelope, trace: TraceContext): Promise<Forwarded> {
    const { caller, message } = call;
    const token = tokenText(message.bytes, envelope.progressToken) ?? null;
    const ending = new AbortController();
    const done = deps.inFlight.begin(caller.session, {
      xid: call.xid,
      clientId: idKey(message.id ?? ''),
      cancel() {
        cancelAtNode(call);
        ending.abort();
      },
    });
    const rises = progressGate();
    try {
      const answer = await deps.answer(exchangeOf(call, trace, ending.signal), askOf(call, envelope), {
        event(method, members) {
          if (ending.signal.aborted || call.emit === null) return;
          if (method === 'notifications/progress' && token !== null && !rises(members)) return;
          const terms = { revision: caller.revision, token, level: caller.logLevel };
          const notification = lowerEvent(terms, method, members);
          if (notification !== null) call.emit(notification);
        },
      });
      if (ending.signal.aborted) return CANCELLED;
      return lowerAnswer(call, answer);
    } finally {
      done();
    }
  };

  /** The link lets a kept call go on when its stream closes (`onVanish`), so a cancel must say its name first. */
  function cancelAtNode({ ticket, caller, xid }: LegacyCall): void {
    const { principal } = ticket.caller;
    deps.link.cancel(principal.tenant, null, xid, principal, caller.session?.hash ?? null);
  }

  function lowerAnswer(call: LegacyCall, answer: Answer): Forwarded {
    const method = call.message.method ?? '';
    const idText = call.message.idText ?? 'null';
    if (answer.kind === 'refusal') {
      // Cancelled on another replica: the node has said so before the hint came.
      if (answer.refusal.reason === 'cancelled') return CANCELLED;
      return {
        response: refusalResponse(answer.refusal, method, idText, call.xid),
        outcome: answer.refusal.reason,
        server: answer.server,
      };
    }
    if (answer.resultType !== 'complete') return unansweredQuestions(deps.link, call, answer);
    const result = lowerResult(method, call.caller.revision, answer.members, answer.meta);
    return { response: resultText(idText, result), outcome: 'ok', server: answer.server };
  }
}

const CANCELLED: Forwarded = { response: null, outcome: 'cancelled' };

export function exchangeOf(
  call: Omit<LegacyCall, 'emit' | 'message'>,
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

function askOf(call: LegacyCall, envelope: Envelope): Ask {
  const ask = askFrom(call.message, envelope);
  return {
    ...ask,
    params: ask.params.some((m) => STRIPPED.has(m.key)) ? ask.params.filter((m) => !STRIPPED.has(m.key)) : ask.params,
    progress: ask.progress && call.emit !== null,
  };
}
