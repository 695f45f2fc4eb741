// The answers of a retry, as they lie among its params (protocol/link/frames.ts `Open`): raw, by key, never parsed as a
// whole. Whoever asked judges them.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, scan } from '@lockkeeper/protocol/json/scan';
import { keep } from './result/split.ts';

export interface AnswerEntry {
  readonly key: string;
  /** Raw JSON text. */
  readonly value: Uint8Array;
  readonly object: boolean;
  /** The closed extension's refusal, `{"lk/error":{…}}`. */
  readonly refused: boolean;
}

const MARK = Buffer.from('"inputResponses":');

/** Null when there are none: the gateway spells the member in one way, so most calls cost one search. */
export function answersOf(params: Uint8Array): AnswerEntry[] | null {
  const found = located(params);
  if (found === null) return null;
  const { bytes, member } = found;
  return membersOf(bytes, member).map((entry) => ({
    key: entry.key,
    value: bytes.subarray(entry.start, entry.end),
    object: entry.kind === 'object',
    refused: entry.kind === 'object' && findMember(membersOf(bytes, entry), 'lk/error') !== undefined,
  }));
}

export function withoutAnswers(params: Uint8Array): Uint8Array {
  const found = located(params);
  return found === null ? params : keep(found.bytes, found.members, (key) => key === 'inputResponses');
}

function located(params: Uint8Array): { bytes: Uint8Array; members: readonly Member[]; member: Member } | null {
  if (!Buffer.from(params.buffer, params.byteOffset, params.length).includes(MARK)) return null;
  const bytes = concat(['{', params, '}']);
  const { members } = scan(bytes);
  const member = findMember(members, 'inputResponses');
  return member?.kind === 'object' ? { bytes, members, member } : null;
}
