// Bytes put together without parsing (design §11): members without braces are joined by commas, spans replaced.

import { byteLength, encoded, put, room } from './bytes.ts';
import type { Member, Span } from './scan.ts';

const COMMA = 0x2c;

export function bytesOf(text: string): Uint8Array {
  return encoded(text);
}

/** One buffer of all parts, in order; strings as UTF-8. */
export function concat(parts: readonly (Uint8Array | string)[]): Uint8Array {
  let length = 0;
  for (const p of parts) length += typeof p === 'string' ? byteLength(p) : p.length;
  const out = room(length);
  let at = 0;
  for (const p of parts) {
    if (typeof p === 'string') at += put(out, at, p);
    else {
      out.set(p, at);
      at += p.length;
    }
  }
  return out;
}

/** `{` + the non-empty groups of members, comma-joined + `}`. */
export function objectOf(groups: readonly (Uint8Array | string | undefined)[]): Uint8Array {
  const parts: (Uint8Array | string)[] = ['{'];
  for (const g of groups) {
    if (g === undefined || g.length === 0) continue;
    if (parts.length > 1) parts.push(',');
    parts.push(g);
  }
  parts.push('}');
  return concat(parts);
}

/** The members of an object other than `drop`, as they stand, joined by commas, without braces. */
export function membersWithout(
  bytes: Uint8Array,
  members: readonly Member[],
  drop: (key: string) => boolean,
): Uint8Array {
  const kept = members.filter((m) => !drop(m.key));
  const first = kept[0];
  const last = kept[kept.length - 1];
  if (first === undefined || last === undefined) return new Uint8Array(0);
  // Nothing is taken out between them: a view will do, however large.
  if (members.indexOf(last) - members.indexOf(first) === kept.length - 1) {
    return bytes.subarray(first.keyStart, last.end);
  }
  let length = kept.length - 1;
  for (const m of kept) length += m.end - m.keyStart;
  const out = room(length);
  let at = 0;
  for (const m of kept) {
    if (at > 0) out[at++] = COMMA;
    out.set(bytes.subarray(m.keyStart, m.end), at);
    at += m.end - m.keyStart;
  }
  return out;
}

export interface Edit extends Span {
  readonly text: string;
}

/** Replaces spans. Edits must not overlap; any order. */
export function applyEdits(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes;
  const parts: (Uint8Array | string)[] = [];
  let at = 0;
  for (const e of [...edits].sort((a, b) => a.start - b.start)) {
    parts.push(bytes.subarray(at, e.start), e.text);
    at = e.end;
  }
  parts.push(bytes.subarray(at));
  return concat(parts);
}
