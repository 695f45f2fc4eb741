// Makes the `Ask` of a located request, for both legs (exchange.ts): where its parts are and what survives of its
// `_meta`. Nothing is parsed but the one name; nothing is judged.

import { findMember, stringOf } from '@lockkeeper/protocol/json/scan';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { type Envelope, tokenText } from '../era/envelope.ts';
import type { Ask } from '../exchange.ts';
import type { Headers, Located } from '../http/contract.ts';

/**
 * `method` differs from the message's own when the leg asks something else on its behalf (a legacy `initialize`
 * answered from `server/discover`). Modern requests pass their headers, for Mcp-Param-*.
 */
export function askFrom(message: Located, envelope: Envelope, headers?: Headers, method = message.method ?? ''): Ask {
  const name = nameOf(message, method);
  const paramHeaders = headers === undefined ? undefined : paramHeadersOf(headers);
  const progress = tokenText(message.bytes, envelope.progressToken) !== undefined;
  const ask: Made = { method, bytes: message.bytes, params: message.params, progress };
  if (envelope.vendor !== undefined) ask.meta = envelope.vendor;
  if (name !== undefined) ask.name = name;
  if (paramHeaders !== undefined) ask.paramHeaders = paramHeaders;
  return ask;
}

type Made = { -readonly [M in keyof Ask]: Ask[M] };

/** params.name, params.uri or params.taskId, decoded, when the method has one and it is a string. */
export function nameOf(message: Pick<Located, 'bytes' | 'params'>, method: string): string | undefined {
  const key = MODERN_METHODS.get(method)?.nameKey ?? LEGACY_METHODS.get(method)?.nameKey;
  return key === undefined ? undefined : stringOf(message.bytes, findMember(message.params, key));
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/** Node joins a repeated header with ", ", which then equals no argument (protocol.md §2.2). */
function paramHeadersOf(headers: Headers): ReadonlyMap<string, string> {
  let found: Map<string, string> | undefined;
  for (const key in headers) {
    if (!key.startsWith(HEADER.paramPrefix)) continue;
    const value = headers[key];
    found ??= new Map();
    found.set(key.slice(HEADER.paramPrefix.length), Array.isArray(value) ? value.join(', ') : (value ?? ''));
  }
  return found ?? NO_HEADERS;
}
