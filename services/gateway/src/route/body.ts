// The params that go upstream: the caller's own bytes without what is the gateway's (`_meta`, answers, states) and
// with the few spans that name things rewritten. Never parsed and put together again (design §11).

import { applyEdits, concat, type Edit, membersWithout } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { Ask } from '../exchange.ts';

/**
 * Answers are put at the end, under the one spelling the node looks for. `task` was 2025-11-25's wish for a task, which a modern server ignores
 * (protocol.md §1.4) and a legacy one must not see before tasks are carried.
 */
const OURS: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState', 'task']);

/** `answers`: what `inputResponsesOf` found, of a method that can be asked. */
export function bodyOf(ask: Ask, edits: readonly Edit[], answers?: Member): Uint8Array {
  const rest = paramsOf(ask, edits);
  if (answers === undefined) return rest;
  const raw = ask.bytes.subarray(answers.start, answers.end);
  return concat([rest, rest.length === 0 ? '"inputResponses":' : ',"inputResponses":', raw]);
}

function paramsOf(ask: Ask, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return membersWithout(ask.bytes, ask.params, (key) => OURS.has(key));
  const parts: (Uint8Array | string)[] = [];
  for (const m of ask.params) {
    if (OURS.has(m.key)) continue;
    const inside = edits.filter((e) => e.start >= m.keyStart && e.end <= m.end);
    const shifted = inside.map((e) => ({ start: e.start - m.keyStart, end: e.end - m.keyStart, text: e.text }));
    if (parts.length > 0) parts.push(',');
    parts.push(applyEdits(ask.bytes.subarray(m.keyStart, m.end), shifted));
  }
  return concat(parts);
}

/** The edit that puts the server's own name or URI in the place of the caller's. */
export function renamed(member: Member, own: string): Edit {
  return { start: member.start, end: member.end, text: JSON.stringify(own) };
}

export interface Ref {
  readonly kind: 'prompt' | 'resource';
  readonly name: string;
  /** The member that holds the name or URI. */
  readonly member: Member;
}

/** What a completion is for; null when `params.ref` is no reference we know. */
export function refOf(ask: Ask): Ref | null {
  const ref = findMember(ask.params, 'ref');
  if (ref?.kind !== 'object') return null;
  const members = membersOf(ask.bytes, ref);
  const type = stringOf(ask.bytes, findMember(members, 'type'));
  const kind = type === 'ref/prompt' ? 'prompt' : type === 'ref/resource' ? 'resource' : null;
  if (kind === null) return null;
  const member = findMember(members, kind === 'prompt' ? 'name' : 'uri');
  const name = stringOf(ask.bytes, member);
  return member === undefined || name === undefined ? null : { kind, name, member };
}

/** Undefined when there are none; null when they are no object. */
export function inputResponsesOf(ask: Ask): Member | undefined | null {
  const member = findMember(ask.params, 'inputResponses');
  return member === undefined || member.kind === 'object' ? member : null;
}
