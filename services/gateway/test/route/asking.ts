// A server that asks, for the tests of questions: what the node hands over, what the caller gets, and the caller's
// retry made from it.

import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Answer } from '../../src/exchange.ts';
import type { LinkAnswer, LinkRequest } from '../../src/link/contract.ts';
import { read, result } from './stage.ts';

export const NODE = { id: 'n1', incarnation: 'i1' };

export const ALL: ClientCapabilities = {
  roots: {},
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
};

export const FORM =
  '"k":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":1.0}}}}}';

/** `input_required` as the node gives it; `state` undefined: the server keeps none with the caller. */
export function asks(requests: string | null, state: string | undefined, node = NODE): LinkAnswer {
  const members = requests === null ? '' : `"inputRequests":{${requests}}`;
  const head = state === undefined ? {} : { state };
  const answer = result(members, { resultType: 'input_required', ...head });
  return answer.kind === 'result' ? { ...answer, node } : answer;
}

/** Asks until it is answered. */
export function asking(requests: string, state: string | undefined) {
  return (request: LinkRequest): LinkAnswer | string =>
    Buffer.from(request.body).includes('"inputResponses"') || request.wait === true
      ? '"content":[{"type":"text","text":"done"}]'
      : asks(requests, state);
}

export function stateOf(answer: Answer): string {
  const { requestState } = read(answer) as { requestState: string };
  return requestState;
}

/** The params of a retry: those of the call, the answers, the state. */
export function retryOf(params: string, state: unknown, answers = '{"k":{"action":"accept","content":{"n":1.0}}}') {
  return `${params.slice(0, -1)},"inputResponses":${answers},"requestState":${JSON.stringify(state)}}`;
}
