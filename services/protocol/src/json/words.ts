// Where the smallest things of a JSON text end: words and escapes (RFC 8259 §3, §7).

import { ScanError } from './scan-error.ts';

export function endOfWord(b: Uint8Array, at: number, word: string): number {
  for (let i = 0; i < word.length; i++) if (b[at + i] !== word.charCodeAt(i)) throw new ScanError('syntax', at);
  return at + word.length;
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

function isHex(c: number | undefined): boolean {
  return c !== undefined && ((c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66));
}
