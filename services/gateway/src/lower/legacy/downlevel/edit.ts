// Objects and arrays changed in place of their bytes: members are kept as they stand, dropped, or given another
// value. What no rule touches comes through byte for byte, numbers beyond 2^53 and key order among it (design §11).
// Input has been accepted by `scan` before; nothing here judges it.

import { concat } from '@lockkeeper/protocol/json/compose';
import { itemsOf, type JsonKind, type Member, membersOf, type Span } from '@lockkeeper/protocol/json/scan';

/** `keep` as it stands, `drop`, or the text of another value. */
export type Change = 'keep' | 'drop' | Uint8Array | string;

/** Text that is not put together yet. */
export type Parts = readonly (Uint8Array | string)[];

export interface Item extends Span {
  readonly kind: JsonKind;
}

export function raw(bytes: Uint8Array, span: Span): Uint8Array {
  return bytes.subarray(span.start, span.end);
}

/** `append`: further members' text, without a leading comma. The same bytes come back when nothing changes. */
export function mapObject(
  bytes: Uint8Array,
  span: Span,
  change: (member: Member) => Change,
  append?: string | Uint8Array,
): Uint8Array {
  return mapMembers(bytes, span, membersOf(bytes, span), change, append);
}

/** `mapObject` for one whose members are located already. */
export function mapMembers(
  bytes: Uint8Array,
  span: Span,
  members: readonly Member[],
  change: (member: Member) => Change,
  append?: string | Uint8Array,
): Uint8Array {
  const parts = editMembers(bytes, members, change, append);
  return parts === null ? raw(bytes, span) : concat(['{', ...parts, '}']);
}

/** The changed members as they go out, without braces, nothing copied yet. Null: nothing changes. */
export function editMembers(
  bytes: Uint8Array,
  members: readonly Member[],
  change: (member: Member) => Change,
  append: string | Uint8Array = '',
): Parts | null {
  let touched = append.length > 0;
  const parts: (Uint8Array | string)[] = [];
  for (const m of members) {
    const c = change(m);
    if (c !== 'keep') touched = true;
    if (c === 'drop') continue;
    if (parts.length > 0) parts.push(',');
    if (c === 'keep') parts.push(bytes.subarray(m.keyStart, m.end));
    else parts.push(bytes.subarray(m.keyStart, m.start), c);
  }
  if (!touched) return null;
  if (append.length > 0) parts.push(parts.length > 0 ? ',' : '', append);
  return parts;
}

export function mapArray(
  bytes: Uint8Array,
  span: Span,
  change: (item: Item) => Change,
  append?: string | Uint8Array,
): Uint8Array {
  let touched = append !== undefined && append.length > 0;
  const parts: (Uint8Array | string)[] = ['['];
  for (const item of itemsOf(bytes, span)) {
    const c = change(item);
    if (c !== 'keep') touched = true;
    if (c === 'drop') continue;
    if (parts.length > 1) parts.push(',');
    parts.push(c === 'keep' ? raw(bytes, item) : c);
  }
  if (!touched) return raw(bytes, span);
  if (append !== undefined && append.length > 0) parts.push(parts.length > 1 ? ',' : '', append);
  parts.push(']');
  return concat(parts);
}

/** `keep` when a rebuild gave back the very bytes it was given. */
export function changed(bytes: Uint8Array, span: Span, next: Uint8Array): Change {
  return next.buffer === bytes.buffer && next.byteOffset === bytes.byteOffset + span.start ? 'keep' : next;
}

/** An object's members' text without its braces. */
export function inside(object: Uint8Array): Uint8Array {
  return object.subarray(1, object.length - 1);
}

/** Whether the text occurs at all: saves a walk over what cannot need a change. */
export function mentions(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(text);
}
