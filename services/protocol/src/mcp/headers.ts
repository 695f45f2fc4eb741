// MCP header names and the encoding of their values (protocol.md §2.2, §2.3). Node lower-cases names, so these are
// lower-case; values are compared exactly.

import { bytesOf } from '../json/compose.ts';

export const HEADER = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  session: 'mcp-session-id',
  lastEventId: 'last-event-id',
  paramPrefix: 'mcp-param-',
} as const;

const PREFIX = '=?base64?';
const SUFFIX = '?=';
/** Visible ASCII with inner blanks and tabs: what HTTP carries as it is. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function looksSealed(value: string): boolean {
  return value.startsWith(PREFIX) && value.endsWith(SUFFIX) && value.length >= PREFIX.length + SUFFIX.length;
}

/** Plain where HTTP carries it unchanged, else the sentinel form; the empty string as `=?base64??=` (Part 7 #22). */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !looksSealed(value)) return value;
  let binary = '';
  for (const byte of bytesOf(value)) binary += String.fromCharCode(byte);
  return `${PREFIX}${btoa(binary)}${SUFFIX}`;
}

/** The value meant; null when it is a sentinel whose base64 or UTF-8 is bad. Anything else is taken literally. */
export function decodeHeaderValue(value: string): string | null {
  if (!looksSealed(value)) return value;
  const inner = value.slice(PREFIX.length, value.length - SUFFIX.length);
  if (!BASE64.test(inner)) return null;
  const bytes = Uint8Array.from(atob(inner), (c) => c.charCodeAt(0));
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8: as bad as bad base64
  }
}
