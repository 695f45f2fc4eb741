// A strict JSON scanner over bytes (RFC 8259, the language JSON.parse accepts). It validates and says where things
// are; it makes no values, so what we do not read is never reshaped (design §11). UTF-8 validity is the caller's
// (a native check is at hand there); here every byte ≥ 0x80 inside a string is taken as it is.

import { textAt } from './bytes.ts';
import { ScanError } from './scan-error.ts';
import { kindAt, Scanner } from './scanner.ts';
import { decodeString } from './text.ts';

export { ScanError };

export interface Span {
  readonly start: number;
  readonly end: number;
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'literal';

export interface Member {
  /** Decoded key. */
  readonly key: string;
  /** Offset of the key's opening quote. */
  readonly keyStart: number;
  readonly kind: JsonKind;
  /** Span of the value. */
  readonly start: number;
  readonly end: number;
}

export interface ScanRules {
  /** Refuse a key that repeats in its object, and `__proto__` (design ruling 1). */
  readonly unique: boolean;
  readonly maxDepth: number;
}

const LOOSE: ScanRules = { unique: false, maxDepth: 10_000 };

export interface Scanned {
  readonly kind: JsonKind;
  readonly span: Span;
  readonly members: Member[];
}

/** Where to put the members of the object that stands at member `key`: they cost no second pass. */
export interface Inner {
  readonly key: string;
  readonly members: Member[];
  /** One level further in. */
  readonly within?: Inner;
}

/** Validates the whole text. Returns the root's kind and span, and its members when it is an object. */
export function scan(bytes: Uint8Array, rules: ScanRules = LOOSE, inner: Inner | null = null): Scanned {
  const s = new Scanner(bytes, rules);
  const start = s.skipSpace(0);
  const members: Member[] = [];
  const kind = kindAt(bytes, start);
  const end = s.value(start, 0, members, inner);
  if (s.skipSpace(end) !== bytes.length) throw new ScanError('syntax', end);
  return { kind, span: { start, end }, members };
}

/** Members of an object inside text that `scan` has accepted. */
export function membersOf(bytes: Uint8Array, span: Span): Member[] {
  const members: Member[] = [];
  new Scanner(bytes, LOOSE).value(span.start, 0, members);
  return members;
}

/** Members that stand without their braces, of text that `scan` has accepted. */
export function membersIn(bytes: Uint8Array): Member[] {
  const s = new Scanner(bytes, LOOSE);
  const members: Member[] = [];
  let at = s.skipSpace(0);
  while (at < bytes.length) {
    const start = s.key(at);
    const end = s.value(start, 1, null);
    members.push({ key: decodeString(bytes, at, s.string(at)), keyStart: at, kind: kindAt(bytes, start), start, end });
    at = s.skipSpace(end);
    if (bytes[at] === 0x2c) at = s.skipSpace(at + 1);
  }
  return members;
}

/** Element spans of an array inside text that `scan` has accepted. */
export function itemsOf(bytes: Uint8Array, span: Span): { kind: JsonKind; start: number; end: number }[] {
  const s = new Scanner(bytes, LOOSE);
  const items: { kind: JsonKind; start: number; end: number }[] = [];
  let at = s.skipSpace(span.start + 1);
  while (bytes[at] !== 0x5d) {
    const end = s.value(at, 1, null);
    items.push({ kind: kindAt(bytes, at), start: at, end });
    at = s.skipSpace(end);
    if (bytes[at] === 0x2c) at = s.skipSpace(at + 1);
  }
  return items;
}

export function findMember(members: readonly Member[], key: string): Member | undefined {
  for (const m of members) if (m.key === key) return m;
  return undefined;
}

/** Text of a span, as it stands. */
export function textOf(bytes: Uint8Array, span: Span): string {
  return textAt(bytes, span.start, span.end);
}

/** Value of a (small) span. */
export function parseSpan(bytes: Uint8Array, span: Span): unknown {
  return JSON.parse(textOf(bytes, span)) as unknown;
}

export function stringOf(bytes: Uint8Array, member: Member | undefined): string | undefined {
  if (member === undefined || member.kind !== 'string') return undefined;
  return decodeString(bytes, member.start, member.end);
}
