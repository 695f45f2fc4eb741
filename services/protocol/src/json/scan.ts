// A strict JSON scanner over bytes (RFC 8259, the language JSON.parse accepts). It validates and says where things
// are; it makes no values, so what we do not read is never reshaped (design §11). UTF-8 validity is the caller's
// (a native check is at hand there); here every byte ≥ 0x80 inside a string is taken as it is.

import { textAt } from './bytes.ts';
import { Keys } from './keys.ts';
import { decodeString } from './text.ts';

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

export class ScanError extends Error {
  readonly fault: 'syntax' | 'duplicate-key' | 'forbidden-key' | 'too-deep';
  readonly offset: number;
  constructor(fault: ScanError['fault'], offset: number) {
    super(`${fault} at byte ${offset}`);
    this.fault = fault;
    this.offset = offset;
  }
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

function kindAt(bytes: Uint8Array, at: number): JsonKind {
  switch (bytes[at]) {
    case 0x7b:
      return 'object';
    case 0x5b:
      return 'array';
    case 0x22:
      return 'string';
    case 0x74:
    case 0x66:
    case 0x6e:
      return 'literal';
    default:
      return 'number';
  }
}

function forget(inner: Inner): void {
  inner.members.length = 0;
  if (inner.within !== undefined) forget(inner.within);
}

class Scanner {
  private readonly b: Uint8Array;
  private readonly rules: ScanRules;
  private words: Int32Array | null = null;
  constructor(bytes: Uint8Array, rules: ScanRules) {
    this.b = bytes;
    this.rules = rules;
  }

  skipSpace(at: number): number {
    const b = this.b;
    let i = at;
    for (;;) {
      const c = b[i];
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) i++;
      else return i;
    }
  }

  /** End of the value that starts at `at`; its members go to `out` when it is an object. */
  value(at: number, depth: number, out: Member[] | null, inner: Inner | null = null): number {
    if (depth > this.rules.maxDepth) throw new ScanError('too-deep', at);
    switch (this.b[at]) {
      case 0x7b:
        return depth < RECURSIVE || this.rules.unique ? this.object(at, depth, out, inner) : this.skip(at, depth);
      case 0x5b:
        return depth < RECURSIVE || this.rules.unique ? this.array(at, depth) : this.skip(at, depth);
      case 0x22:
        return this.string(at);
      case 0x74:
        return this.word(at, 'true');
      case 0x66:
        return this.word(at, 'false');
      case 0x6e:
        return this.word(at, 'null');
      default:
        return this.number(at);
    }
  }

  private object(at: number, depth: number, out: Member[] | null, inner: Inner | null): number {
    const b = this.b;
    let i = this.skipSpace(at + 1);
    if (b[i] === 0x7d) return i + 1;
    const seen: Keys | null = this.rules.unique ? new Keys() : null;
    for (;;) {
      if (b[i] !== 0x22) throw new ScanError('syntax', i);
      const keyStart = i;
      const keyEnd = this.string(i);
      const key = out === null && seen === null ? '' : decodeString(b, keyStart, keyEnd);
      const wanted = inner !== null && inner.key === key ? inner : null;
      // A repeated key: the last one counts, as in JSON.parse.
      if (wanted !== null) forget(wanted);
      if (seen !== null) checkKey(seen, key, keyStart);
      i = this.skipSpace(keyEnd);
      if (b[i] !== 0x3a) throw new ScanError('syntax', i);
      const start = this.skipSpace(i + 1);
      const end =
        wanted === null
          ? this.value(start, depth + 1, null)
          : this.value(start, depth + 1, wanted.members, wanted.within ?? null);
      if (out !== null) out.push({ key, keyStart, kind: kindAt(b, start), start, end });
      i = this.skipSpace(end);
      if (b[i] === 0x7d) return i + 1;
      if (b[i] !== 0x2c) throw new ScanError('syntax', i);
      i = this.skipSpace(i + 1);
    }
  }

  /**
   * End of an object or array deep inside, of which nothing but the end is wanted. Without recursion: a server's schema
   * may be nested thousands of levels deep (GB-137) and the stack is not.
   */
  private skip(at: number, depth: number): number {
    const b = this.b;
    // What is open, innermost in the lowest bit: 1 an object, 0 an array. A full number of 30 waits in `outer`.
    let open = 0;
    let count = 0;
    let outer: number[] | null = null;
    let i = at;
    for (;;) {
      const c = b[i];
      if (c === 0x22) i = this.string(i);
      else if (c !== 0x7b && c !== 0x5b) i = this.value(i, depth, null);
      else {
        if (depth + count > this.rules.maxDepth) throw new ScanError('too-deep', i);
        i = this.skipSpace(i + 1);
        if (b[i] === c + 2) i++;
        else {
          if (count > 0 && count % 30 === 0) {
            outer ??= [];
            outer.push(open);
            open = 0;
          }
          count++;
          open = (open << 1) | (c === 0x7b ? 1 : 0);
          if (c === 0x7b) i = this.key(i);
          continue;
        }
      }
      for (;;) {
        if (count === 0) return i;
        i = this.skipSpace(i);
        if (b[i] === 0x2c) break;
        if (b[i] !== ((open & 1) === 1 ? 0x7d : 0x5d)) throw new ScanError('syntax', i);
        i++;
        open >>>= 1;
        count--;
        if (count > 0 && count % 30 === 0) open = outer!.pop()!;
      }
      i = this.skipSpace(i + 1);
      if ((open & 1) === 1) i = this.key(i);
    }
  }

  /** Start of the value whose key stands here. */
  key(at: number): number {
    if (this.b[at] !== 0x22) throw new ScanError('syntax', at);
    const colon = this.skipSpace(this.string(at));
    if (this.b[colon] !== 0x3a) throw new ScanError('syntax', colon);
    return this.skipSpace(colon + 1);
  }

  private array(at: number, depth: number): number {
    const b = this.b;
    let i = this.skipSpace(at + 1);
    if (b[i] === 0x5d) return i + 1;
    for (;;) {
      i = this.skipSpace(this.value(i, depth + 1, null));
      if (b[i] === 0x5d) return i + 1;
      if (b[i] !== 0x2c) throw new ScanError('syntax', i);
      i = this.skipSpace(i + 1);
    }
  }

  string(at: number): number {
    const b = this.b;
    let i = at + 1;
    for (;;) {
      // Ends on a whole word, from where on words can be looked at.
      const stop = Math.min(b.length, ((i + LONG_STRING + b.byteOffset) & ~3) - b.byteOffset);
      while (i < stop) {
        const c = b[i]!;
        if (c === 0x22) return i + 1;
        if (c === 0x5c) i = this.escape(i);
        else if (c < 0x20) throw new ScanError('syntax', i);
        else i++;
      }
      if (i >= b.length) throw new ScanError('syntax', i);
      i = this.plainFrom(i);
    }
  }

  /**
   * First place from `at` on whose aligned four bytes may hold a quote, a backslash or a control character. A long
   * text is walked by words: each mask is zero exactly where none of its bytes is looked for.
   */
  private plainFrom(at: number): number {
    const shift = this.b.byteOffset & 3;
    // An escape may have led past the word's edge; then bytes are read up to the next one.
    if (((at + shift) & 3) !== 0) return at;
    this.words ??= wordsOf(this.b);
    const words = this.words;
    let w = (at + shift) >> 2;
    for (; w < words.length; w++) {
      const x = words[w]!;
      const quote = x ^ 0x22222222;
      const slash = x ^ 0x5c5c5c5c;
      const found = ((x - 0x20202020) & ~x) | ((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash);
      if ((found & 0x80808080) !== 0) break;
    }
    return (w << 2) - shift;
  }

  private escape(at: number): number {
    switch (this.b[at + 1]) {
      case 0x22:
      case 0x5c:
      case 0x2f:
      case 0x62:
      case 0x66:
      case 0x6e:
      case 0x72:
      case 0x74:
        return at + 2;
      case 0x75:
        for (let i = at + 2; i < at + 6; i++) if (!isHex(this.b[i])) throw new ScanError('syntax', i);
        return at + 6;
      default:
        throw new ScanError('syntax', at);
    }
  }

  private word(at: number, word: string): number {
    for (let i = 0; i < word.length; i++) if (this.b[at + i] !== word.charCodeAt(i)) throw new ScanError('syntax', at);
    return at + word.length;
  }

  private number(at: number): number {
    const b = this.b;
    let i = at;
    if (b[i] === 0x2d) i++;
    if (b[i] === 0x30) i++;
    else i = this.digits(i);
    if (b[i] === 0x2e) i = this.digits(i + 1);
    if (b[i] === 0x65 || b[i] === 0x45) {
      i++;
      if (b[i] === 0x2b || b[i] === 0x2d) i++;
      i = this.digits(i);
    }
    return i;
  }

  private digits(at: number): number {
    let i = at;
    while (isDigit(this.b[i])) i++;
    if (i === at) throw new ScanError('syntax', i);
    return i;
  }
}

function checkKey(seen: Keys, key: string, keyStart: number): void {
  if (key === '__proto__') throw new ScanError('forbidden-key', keyStart);
  if (!seen.add(key)) throw new ScanError('duplicate-key', keyStart);
}

/** Levels up to which recursion, which is faster, is safe. */
const RECURSIVE = 200;

/** So many plain bytes in a row make it worth while to look at four at a time. */
const LONG_STRING = 1024;

/** The whole aligned words of the buffer below `bytes`, up to its end; the first may begin before it. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const start = bytes.byteOffset & ~3;
  return new Int32Array(bytes.buffer as ArrayBuffer, start, (bytes.byteOffset + bytes.length - start) >> 2);
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function isHex(c: number | undefined): boolean {
  return c !== undefined && (isDigit(c) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66));
}
