// A result taken apart into what the link carries (protocol/link/frames.ts): resultType, vendor `_meta`, the rest as
// members. Bytes stay where they are; where nothing is taken out of the middle, the rest is a view of the line.

import { bytesOf, concat, membersWithout } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { META_PREFIX } from '@lockkeeper/protocol/mcp/meta';

/** Members other than `drop`, as they stand. */
export function keep(line: Uint8Array, members: readonly Member[], drop: (key: string) => boolean): Uint8Array {
  let first = 0;
  let last = members.length - 1;
  while (first <= last && drop(members[first]!.key)) first++;
  while (last >= first && drop(members[last]!.key)) last--;
  if (first > last) return new Uint8Array(0);
  for (let i = first + 1; i < last; i++) {
    if (drop(members[i]!.key)) return membersWithout(line, members.slice(first, last + 1), drop);
  }
  return line.subarray(members[first]!.keyStart, members[last]!.end);
}

/** `members` with more of them behind. */
export function withMembers(members: Uint8Array, more: string): Uint8Array {
  if (more === '') return members;
  return members.length === 0 ? bytesOf(more) : concat([members, ',', more]);
}

/** Names that only the protocol or Lockkeeper may set: a server that could would speak in our name (design §4, §8). */
function isReserved(key: string): boolean {
  return key.startsWith(META_PREFIX) || key.startsWith('lockkeeper/') || key.startsWith('lk/');
}

/** Vendor members of `_meta`; reserved ones do not pass (protocol.md §5.0 I8). */
export function vendorMeta(line: Uint8Array, members: readonly Member[]): string | undefined {
  const meta = findMember(members, '_meta');
  if (meta === undefined || meta.kind !== 'object') return undefined;
  const kept = membersWithout(line, membersOf(line, meta), isReserved);
  return kept.length === 0 ? undefined : new TextDecoder().decode(kept);
}

export type ResultType =
  | { readonly kind: 'absent' }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'invalid'; readonly text: string };

export function resultTypeOf(line: Uint8Array, members: readonly Member[]): ResultType {
  const member = findMember(members, 'resultType');
  if (member === undefined) return { kind: 'absent' };
  const name = stringOf(line, member);
  return name === undefined ? { kind: 'invalid', text: textOf(line, member).slice(0, 40) } : { kind: 'named', name };
}

/** What never travels as a result member; a bare `requestState` least of all (protocol.md Part 6 #39). */
export function isEnvelope(key: string): boolean {
  return key === '_meta' || key === 'resultType' || key === 'requestState' || key.startsWith('lk/');
}
