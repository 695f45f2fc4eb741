// One answer of a caller against what was asked (26/mrtr "Error Handling", design §4 amendment 8). What is no answer at
// all refuses the request; a form that does not fit leaves its question open; the rest goes to the server as it came.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { applyEdits } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { AnswerEntry } from '../raise/answers.ts';
import { cleaned } from '../raise/result/upstream-error.ts';
import type { Asked, Settled } from './asked.ts';
import { unfit } from './form.ts';

export type Judged =
  | { readonly kind: 'fits'; readonly answer: Settled }
  | { readonly kind: 'unfit'; readonly why: string }
  | { readonly kind: 'malformed'; readonly why: string };

/** `revision`: spoken by whoever asked. */
export function judgeAnswer(asked: Asked, entry: AnswerEntry, revision: string): Judged {
  if (!entry.object) return malformed('is no object');
  const members = membersOf(entry.value, { start: 0, end: entry.value.length });
  if (entry.refused) return refusal(entry.value, members);
  switch (asked.method) {
    case 'elicitation/create':
      return elicited(asked, entry.value, members);
    case 'sampling/createMessage':
      return sampled(entry.value, members, revision);
    case 'roots/list':
      return listed(entry.value, members);
  }
}

function refusal(value: Uint8Array, members: readonly Member[]): Judged {
  const { code, message } = (parseSpan(value, findMember(members, 'lk/error')!) ?? {}) as Record<string, unknown>;
  const words = typeof message === 'string' && message !== '' ? cleaned(message) : 'The request was refused';
  const number = typeof code === 'number' && Number.isSafeInteger(code) ? code : -32603;
  return { kind: 'fits', answer: { kind: 'error', code: number, message: words } };
}

function elicited(asked: Asked, value: Uint8Array, members: readonly Member[]): Judged {
  const action = stringOf(value, findMember(members, 'action'));
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    return malformed('has no action of accept, decline and cancel');
  }
  if (action === 'accept' && asked.schema !== undefined) {
    const content = findMember(members, 'content');
    const why = unfit(asked.schema, content === undefined ? {} : parseSpan(value, content));
    if (why !== null) return { kind: 'unfit', why };
  }
  return fits(value);
}

function sampled(value: Uint8Array, members: readonly Member[], revision: string): Judged {
  const content = findMember(members, 'content');
  if (content?.kind !== 'object' && content?.kind !== 'array') return malformed('has no content');
  if (stringOf(value, findMember(members, 'role')) === undefined) return malformed('has no role');
  if (stringOf(value, findMember(members, 'model')) === undefined) return malformed('has no model');
  if (content.kind === 'object' || atLeast(revision, '2025-11-25')) return fits(value);
  // Older servers know one block only (protocol.md §5.9).
  const [block, ...more] = itemsOf(value, content);
  if (block === undefined || more.length > 0) {
    const message = 'The answer has several parts, which this server cannot take';
    return { kind: 'fits', answer: { kind: 'error', code: -32603, message } };
  }
  const text = Buffer.from(value.subarray(block.start, block.end)).toString();
  return fits(applyEdits(value, [{ start: content.start, end: content.end, text }]));
}

function listed(value: Uint8Array, members: readonly Member[]): Judged {
  const roots = findMember(members, 'roots');
  if (roots?.kind !== 'array') return malformed('has no roots');
  const named = (root: { kind: string; start: number; end: number }) =>
    root.kind === 'object' && stringOf(value, findMember(membersOf(value, root), 'uri')) !== undefined;
  return itemsOf(value, roots).every(named) ? fits(value) : malformed('has a root without a uri');
}

function fits(value: Uint8Array): Judged {
  // A copy: it may wait for the baton longer than the message it came in.
  return { kind: 'fits', answer: { kind: 'result', value: copyOf(value) } };
}

function malformed(why: string): Judged {
  return { kind: 'malformed', why };
}
