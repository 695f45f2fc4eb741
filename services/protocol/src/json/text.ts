// From the bytes of a JSON string that the scanner has accepted to its text. What the protocol says again with every
// message is found instead of made.

import { textAt } from './bytes.ts';

/** Longest text that is looked for among those seen before, and how many of them are kept. */
const KNOWN_LENGTH = 64;
const KNOWN_SLOTS = 1024;
/** Texts of the protocol come again with every message: one found here costs no new string. A newer one takes its slot. */
const known: string[] = new Array<string>(KNOWN_SLOTS).fill('');

/** The string whose quotes are at `start` and `end - 1`. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start - 2;
  if (length === 0) return '';
  if (length > KNOWN_LENGTH) return decodeText(bytes, start, end);
  let hash = length;
  for (let i = start + 1; i < end - 1; i++) {
    const c = bytes[i]!;
    if (c >= 0x80 || c === 0x5c) return decodeText(bytes, start, end);
    hash = (Math.imul(hash, 31) + c) | 0;
  }
  const slot = (hash ^ (hash >>> 10)) & (KNOWN_SLOTS - 1);
  const text = known[slot]!;
  if (text.length === length && stands(text, bytes, start + 1)) return text;
  const fresh = textAt(bytes, start + 1, end - 1);
  known[slot] = fresh;
  return fresh;
}

function stands(text: string, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[at + i]) return false;
  return true;
}

function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const raw = textAt(bytes, start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}
