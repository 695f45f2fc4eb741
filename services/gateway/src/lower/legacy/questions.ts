// PLACE for questions (design §4 "Legacy streams", protocol.md §5.3 "input_required"): each input request becomes a
// wire request on this call's own stream, answers come by POST on any replica, and the exchange is re-joined at once.
// Until then a legacy caller is told in words that its call cannot go on, never that it is done (GB-063), and the
// exchange is ended so that nothing stays parked.

import type { Answer } from '../../exchange.ts';
import type { Link } from '../../link/contract.ts';
import type { LegacyCall } from './contract.ts';
import type { Forwarded } from './forward.ts';
import { refusalResponse } from './refusal.ts';

export function unansweredQuestions(
  link: Pick<Link, 'cancel'>,
  call: LegacyCall,
  answer: Extract<Answer, { kind: 'result' }>,
): Forwarded {
  const { principal } = call.ticket.caller;
  const asks = answer.resultType === 'input_required';
  if (asks) link.cancel(principal.tenant, null, call.xid, principal, call.caller.session?.hash ?? null);
  const refusal = asks
    ? ({
        reason: 'capability',
        message: 'The server asks for input that cannot be passed on to this client yet.',
      } as const)
    : ({ reason: 'upstream-protocol', message: 'The server answered with a result of an unknown kind.' } as const);
  const { method, idText } = call.message;
  return { response: refusalResponse(refusal, method ?? '', idText ?? 'null', call.xid), outcome: refusal.reason };
}

/** A client's answer to a wire request of ours. None has been sent yet, so each is a stray: taken and dropped. */
export function takeResponse(): void {}
