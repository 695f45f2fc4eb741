// The pass over the bytes of a JSON text (scan.ts): validates, and says where values end. One is made for each text; what
// is hot in it walks plain numbers and makes nothing.

import { Keys } from './keys.ts';
import type { Inner, JsonKind, Member, ScanRules } from './scan.ts';
import { ScanError } from './scan-error.ts';
import { decodeString } from './text.ts';
import { endOfEscape, endOfWord } from './words.ts';

export class Scanner {
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
        return endOfWord(this.b, at, 'true');
      case 0x66:
        return endOfWord(this.b, at, 'false');
      case 0x6e:
        return endOfWord(this.b, at, 'null');
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
        if (c === 0x5c) i = endOfEscape(b, i);
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

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
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

export function kindAt(bytes: Uint8Array, at: number): JsonKind {
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
