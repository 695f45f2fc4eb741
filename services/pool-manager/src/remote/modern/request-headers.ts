// The headers of a modern request, made from its body (protocol.md §2.2, §4.3): never from what a client sent, whose
// names and schemas are others (GB-046, GB-049, GB-051).

import { findMember, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { encodeHeaderValue, HEADER } from '@lockkeeper/protocol/mcp/headers';
import { PROTOCOL_VERSION } from '@lockkeeper/protocol/mcp/meta';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { makeParamHeaders, type ParamHeader } from '@lockkeeper/protocol/mcp/param-headers';
import type { Outgoing } from '../outgoing.ts';

export const ACCEPT_BOTH = 'application/json, text/event-stream';

export interface ToolSchemas {
  /** Undefined: not known, or without annotations. */
  headersOf(tool: string): readonly ParamHeader[] | undefined;
}

export function requestHeaders(message: Outgoing, schemas: ToolSchemas): Record<string, string> {
  const { bytes, method, params } = message;
  const meta = findMember(params, '_meta');
  const version =
    meta?.kind === 'object' ? stringOf(bytes, findMember(membersOf(bytes, meta), PROTOCOL_VERSION)) : undefined;
  const key = MODERN_METHODS.get(method)?.nameKey;
  const name = key === undefined ? undefined : stringOf(bytes, findMember(params, key));
  return {
    'content-type': 'application/json',
    accept: ACCEPT_BOTH,
    ...(version === undefined ? {} : { [HEADER.version]: version }),
    [HEADER.method]: method,
    ...(name === undefined ? {} : { [HEADER.name]: encodeHeaderValue(name) }),
    ...(method === 'tools/call' && name !== undefined ? mirrored(message, schemas.headersOf(name)) : {}),
  };
}

function mirrored({ bytes, params }: Outgoing, spec: readonly ParamHeader[] | undefined): Record<string, string> {
  if (spec === undefined) return {};
  const args = findMember(params, 'arguments');
  return Object.fromEntries(makeParamHeaders(spec, args === undefined ? undefined : parseSpan(bytes, args)));
}
