// What a server may ask of a client inside `input_required` (protocol.md §2.8 #3), and which capability each question
// rests on, down to mode and sub-capability. Pure.

import { findMember, type Member, stringOf } from '../json/scan.ts';
import type { ClientCapabilities } from './capabilities.ts';

export type QuestionMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list';

/** `params`: members of the question's params. Null: nothing that can be asked. */
export function capabilityFor(
  method: string | undefined,
  bytes: Uint8Array,
  params: readonly Member[],
): ClientCapabilities | null {
  switch (method) {
    case 'roots/list':
      return { roots: {} };
    case 'sampling/createMessage': {
      const tools = findMember(params, 'tools') !== undefined || findMember(params, 'toolChoice') !== undefined;
      return { sampling: tools ? { tools: {} } : {} };
    }
    case 'elicitation/create': {
      const mode = findMember(params, 'mode');
      if (mode === undefined) return { elicitation: { form: {} } };
      const named = stringOf(bytes, mode);
      if (named === 'url') return { elicitation: { url: {} } };
      return named === 'form' ? { elicitation: { form: {} } } : null;
    }
    default:
      return null;
  }
}

/** An elicitation's message with its asker in front, so that the person knows who asks (26/elicit). */
export function askedBy(server: string, message: string): string {
  return `Server "${server}" asks: ${message}`;
}
