// An upstream's JSON-RPC error as what a modern caller may see (protocol.md §2.12, §5.1, §5.2). The original code is
// kept beside it only where a legacy caller may still see it. Upstream text is cleaned and cut, never trusted.

import { findMember, type Member, membersOf, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CLIENT_CAPABILITY,
  RESOURCE_NOT_FOUND,
  UNSUPPORTED_REVISION,
  URL_ELICITATION_REQUIRED,
} from '@lockkeeper/protocol/jsonrpc/codes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { fault, type Outcome } from './outcome.ts';

const MAX_MESSAGE = 2000;
const MAX_DATA_BYTES = 64 * 1024;

export interface UpstreamError {
  /** Null when it is no integer. */
  readonly code: number | null;
  readonly message: string;
  /** Raw JSON text. */
  readonly data: string | undefined;
}

export function readError(line: Uint8Array, error: Member): UpstreamError {
  const members = error.kind === 'object' ? membersOf(line, error) : [];
  const code = findMember(members, 'code');
  const value = code?.kind === 'number' ? Number(textOf(line, code)) : Number.NaN;
  const data = findMember(members, 'data');
  const small = data !== undefined && data.end - data.start <= MAX_DATA_BYTES;
  return {
    code: Number.isSafeInteger(value) ? value : null,
    message: cleaned(stringOf(line, findMember(members, 'message')) ?? ''),
    data: small ? textOf(line, data) : undefined,
  };
}

/** `data` of an error as a value; null when there is none or it is no object. */
export function dataOf(error: UpstreamError): Record<string, unknown> | null {
  if (error.data === undefined) return null;
  const bytes = Buffer.from(error.data);
  const value = parseSpan(bytes, { start: 0, end: bytes.length });
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

export function notFound(uri: string | undefined, message: string): Outcome {
  const data = uri === undefined ? {} : { data: JSON.stringify({ uri }) };
  return fault('upstream', message, { code: INVALID_PARAMS, legacyCode: RESOURCE_NOT_FOUND, ...data });
}

/** The rules both eras have in common. */
export function relayed(head: Open, error: UpstreamError): Outcome {
  if (error.code === RESOURCE_NOT_FOUND && head.method === 'resources/read') return notFound(head.name, error.message);
  if (error.code !== null && passes(error.code)) {
    return fault('upstream', error.message, { code: error.code, ...dataPart(error) });
  }
  return hidden(head, error);
}

/** -32602, -32603 and the server's own codes outside the range JSON-RPC reserves. */
function passes(code: number): boolean {
  return code === INVALID_PARAMS || code === INTERNAL_ERROR || code < -32768 || code > -32000;
}

/**
 * A code without meaning for a modern caller; a legacy one gets it as it was, where its era has it. "Method not found" is
 * always told beside it: of a list it means that there is nothing, whoever asks (GB-100).
 */
function hidden(head: Open, error: UpstreamError): Outcome {
  const legacyCaller = head.downstreamEra === 'legacy' && error.code !== null && !MODERN_ONLY.has(error.code);
  const shown = legacyCaller || error.code === METHOD_NOT_FOUND;
  const legacy = shown ? { legacyCode: error.code!, ...(legacyCaller ? dataPart(error) : {}) } : {};
  return fault('upstream', error.message, { code: INTERNAL_ERROR, ...legacy });
}

/** Never shown to anybody (protocol.md §5.3); -32042 names links that only a parked exchange can answer for. */
const MODERN_ONLY: ReadonlySet<number> = new Set([
  HEADER_MISMATCH,
  MISSING_CLIENT_CAPABILITY,
  UNSUPPORTED_REVISION,
  URL_ELICITATION_REQUIRED,
]);

function dataPart(error: UpstreamError): { data?: string } {
  return error.data === undefined ? {} : { data: error.data };
}

/** Without control characters, at most 2,000 characters, never empty. */
export function cleaned(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
  const text = message.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ').trim();
  if (text === '') return 'The server answered with an error.';
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}
