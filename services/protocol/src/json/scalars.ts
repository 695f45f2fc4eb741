// Where the smallest things of a JSON text end: words, numbers, escapes (RFC 8259 §3, §6, §7).

import { ScanError } from './scan-error.ts';

export function endOfWord(b: Uint8Array, at: number, word: string): number {
  for (let i = 0; i < word.length; i++) if (b[at + i] !== word.charCodeAt(i)) throw new ScanError('syntax', at);
  return at + word.length;
}

export function endOfNumber(b: Uint8Array, at: number): number {
  let i = at;
  if (b[i] === 0x2d) i++;
  if (b[i] === 0x30) i++;
  else i = endOfDigits(b, i);
  if (b[i] === 0x2e) i = endOfDigits(b, i + 1);
  if (b[i] === 0x65 || b[i] === 0x45) {
    i++;
    if (b[i] === 0x2b || b[i] === 0x2d) i++;
    i = endOfDigits(b, i);
  }
  return i;
}

function endOfDigits(b: Uint8Array, at: number): number {
  let i = at;
  while (isDigit(b[i])) i++;
  if (i === at) throw new ScanError('syntax', i);
  return i;
}

export function endOfEscape(b: Uint8Array, at: number): number {
  switch (b[at + 1]) {
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
      for (let i = at + 2; i < at + 6; i++) if (!isHex(b[i])) throw new ScanError('syntax', i);
      return at + 6;
    default:
      throw new ScanError('syntax', at);
  }
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function isHex(c: number | undefined): boolean {
  return c !== undefined && (isDigit(c) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66));
}
