// What a server said over HTTP as the lines that raise knows: valid UTF-8, one JSON object or array, and no raw line
// breaks, which can only stand between tokens (design ruling 1).

import { isUtf8 } from 'node:buffer';
import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import { messagesOf, numberOf, type ScannedLine, scanLine } from '../raise/wire/message.ts';

export interface Said {
  readonly line: Uint8Array;
  readonly found: ScannedLine;
}

export type Unreadable = 'not-utf8' | 'not-json';

/** May write into `body`. */
export function readSaid(body: Uint8Array): Said | Unreadable {
  if (!isUtf8(body)) return 'not-utf8';
  // Some servers put a byte order mark before JSON, which its readers may ignore (RFC 8259 §8.1).
  const bytes = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
  withoutBreaks(bytes);
  const found = scanned(bytes);
  return found !== null && (found.kind === 'object' || found.kind === 'array') ? { line: bytes, found } : 'not-json';
}

/** Ids of the requests that have their answers in it. */
export function answered({ line, found }: Said): number[] {
  return messagesOf(line, found).flatMap((one) => {
    const id = one.kind === 'response' && one.id !== undefined ? numberOf(line, one.id) : undefined;
    return id === undefined ? [] : [id];
  });
}

/** Whether the request of this id has its answer in it. */
export function answers(said: Said, id: number): boolean {
  return answered(said).includes(id);
}

/**
 * The error in the reply to one request, as that request's answer: a server that could not read the id leaves it out or
 * writes null, and the reply says whose it is all the same. Null: no error of JSON-RPC.
 */
export function errorFor(id: number, { line, found }: Said): Said | null {
  if (found.kind !== 'object' || findMember(found.members, 'method') !== undefined) return null;
  const error = findMember(found.members, 'error');
  if (error?.kind !== 'object') return null;
  const own = findMember(found.members, 'id');
  if (own !== undefined && own.kind !== 'literal') return { line, found };
  const text = concat([`{"jsonrpc":"2.0","id":${id},"error":`, line.subarray(error.start, error.end), '}']);
  return { line: text, found: scanLine(text) };
}

function withoutBreaks(bytes: Uint8Array): void {
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) bytes[at] = 0x20;
  for (let at = bytes.indexOf(0x0d); at !== -1; at = bytes.indexOf(0x0d, at + 1)) bytes[at] = 0x20;
}

function scanned(line: Uint8Array): ScannedLine | null {
  try {
    return scanLine(line);
  } catch {
    return null;
  }
}
