// `input_required` of a modern server: whether it may be passed on (protocol.md §2.8, §4.3), and a retry's answers on
// their way back. Its `requestState` is moved out of the members and travels byte for byte.

import { findMember, type Member, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { answersOf } from '../answers.ts';
import { isCaching } from '../result/caching.ts';
import { breach, fault, type Outcome } from '../result/outcome.ts';
import { isEnvelope, keep, vendorMeta } from '../result/split.ts';

export function inputRequired(
  head: Open,
  declared: ClientCapabilities,
  line: Uint8Array,
  members: readonly Member[],
): Outcome {
  if (MODERN_METHODS.get(head.method)?.mrtr !== true) return breach(`the server asks for input in ${head.method}`);
  const requests = findMember(members, 'inputRequests');
  const stated = findMember(members, 'requestState');
  const state = stringOf(line, stated);
  if (requests === undefined && stated === undefined) return breach('input_required without questions and state');
  if (stated !== undefined && state === undefined) return breach('requestState is not a string');
  const why = requests === undefined ? null : unfit(line, requests, declared);
  if (why !== null) return breach(why);
  const meta = vendorMeta(line, members);
  return {
    kind: 'result',
    head: {
      resultType: 'input_required',
      ...(state === undefined ? {} : { state }),
      ...(meta === undefined ? {} : { meta }),
    },
    members: keep(line, members, (key) => isEnvelope(key) || isCaching(key) || key === 'requestState'),
  };
}

/** Why these questions may not be passed on: a capability was exceeded (protocol.md §5.0 I2). */
function unfit(line: Uint8Array, requests: Member, declared: ClientCapabilities): string | null {
  if (requests.kind !== 'object') return 'inputRequests is not an object';
  for (const request of membersOf(line, requests)) {
    const members = request.kind === 'object' ? membersOf(line, request) : [];
    const method = stringOf(line, findMember(members, 'method'));
    const params = findMember(members, 'params');
    const need = needOf(method, line, params?.kind === 'object' ? membersOf(line, params) : []);
    if (need === null) return `inputRequests holds a ${method?.slice(0, 60) ?? 'nameless request'}`;
    if (!covers(declared, need)) return `the server asks for ${method}, which the client did not declare`;
  }
  return null;
}

function needOf(method: string | undefined, line: Uint8Array, params: readonly Member[]): ClientCapabilities | null {
  switch (method) {
    case 'roots/list':
      return { roots: {} };
    case 'sampling/createMessage': {
      const tools = findMember(params, 'tools') !== undefined || findMember(params, 'toolChoice') !== undefined;
      return { sampling: tools ? { tools: {} } : {} };
    }
    case 'elicitation/create':
      return { elicitation: stringOf(line, findMember(params, 'mode')) === 'url' ? { url: {} } : { form: {} } };
    default:
      return null;
  }
}

/** Of a retry, whose answers are among the params. `''` is a state, its absence is none (protocol.md §4.3). */
export function stateMember(head: Open): string {
  return head.state === undefined ? '' : `"requestState":${JSON.stringify(head.state)}`;
}

/** A user's refusal that modern answers have no slot for: the exchange is given up (protocol.md §5.3). */
export function givenUp(head: Open, params: Uint8Array): Outcome | null {
  const responses = answersOf(params);
  if (responses === null || !responses.some((entry) => entry.refused)) return null;
  const words = 'The request for input was refused, so the call was given up.';
  if (head.method !== 'tools/call') return fault('refused', words, { mayHaveRun: true });
  const members = Buffer.from(`"content":[${JSON.stringify({ type: 'text', text: words })}],"isError":true`);
  return { kind: 'result', head: { resultType: 'complete' }, members };
}
