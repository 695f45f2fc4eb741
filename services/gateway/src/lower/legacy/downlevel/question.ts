// One input request as the wire request of a legacy client (protocol.md §5.3, §5.4, §1.7, §1.8): asked, answered on the
// client's behalf where its revision has no way to show it, or missing where the client never declared it. Nobody has
// declined what nobody was shown. Pure.

import type { findMember, Span } from '@lockkeeper/protocol/json/scan';
import { mapMembers } from './edit.ts';
import { lowerForm, lowerUrl } from './elicitation.ts';
import { type Hearer, type InputRequest, type LoweredQuestion, textParam } from './input-request.ts';
import { lowerSampling } from './sampling.ts';

export function lowerQuestion(hearer: Hearer, request: InputRequest): LoweredQuestion {
  const { capabilities } = hearer;
  switch (request.method) {
    case 'roots/list':
      // Their params hold nothing but `_meta` (protocol.md Part 7 #35).
      return capabilities.roots === undefined ? missing('roots') : { kind: 'wire', params: null };
    case 'sampling/createMessage':
      return capabilities.sampling === undefined ? missing('sampling') : lowerSampling(hearer, request);
    case 'elicitation/create':
      return elicitation(hearer, request);
    default:
      return missing(`a way to answer ${request.method}`);
  }
}

function elicitation({ revision, capabilities }: Hearer, request: InputRequest): LoweredQuestion {
  const { elicitation: declared } = capabilities;
  if (declared === undefined) return missing('elicitation (forms)');
  const mode = textParam(request, 'mode') ?? 'form';
  if (mode === 'url') return declared.url === undefined ? missing('elicitation (URLs)') : lowerUrl(request);
  if (mode !== 'form') return missing(`elicitation (${mode})`);
  const shown = declared.form !== undefined || declared.url === undefined;
  return shown ? lowerForm(request, revision) : missing('elicitation (forms)');
}

function missing(what: string): LoweredQuestion {
  return { kind: 'missing', what };
}

/** Ours and the modern hop's keys; what else stands there passes. */
const DROPPED: ReadonlySet<string> = new Set(['_meta', 'task']);

/** What a client answered, without what belongs to its own wire. */
export function raiseResponse(bytes: Uint8Array, span: Span, members: Parameters<typeof findMember>[0]): Uint8Array {
  return mapMembers(bytes, span, members, (m) => (m.key === 'resultType' || DROPPED.has(m.key) ? 'drop' : 'keep'));
}
