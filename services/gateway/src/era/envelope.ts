// The reserved `_meta` keys of one request (protocol.md §1.4), read once. Says what is there; judges nothing.

import { findMember, type Member, membersOf, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { TraceContext } from '@lockkeeper/protocol/link/frames';
import {
  CLIENT_CAPABILITIES,
  LOG_LEVEL,
  META_PREFIX,
  PROGRESS_TOKEN,
  PROTOCOL_VERSION,
} from '@lockkeeper/protocol/mcp/meta';
import type { Located } from '../http/contract.ts';
import { NO_TRACE } from '../observe/trace.ts';

export interface Envelope {
  /** `_meta` is there and is an object. */
  readonly present: boolean;
  /** `_meta[PV]` is there, whatever its type: the mark of a modern request. */
  readonly modern: boolean;
  /** The value of `_meta[PV]` when it is a string. */
  readonly revision: string | undefined;
  readonly capabilities: Member | undefined;
  readonly logLevel: Member | undefined;
  readonly progressToken: Member | undefined;
  /** Trace keys as sent; observe/trace.ts says which are well formed. */
  readonly trace: TraceContext;
  /** Members that are not ours to read, as they stand, without braces; undefined when there are none. */
  readonly vendor: string | undefined;
}

const TRACE_KEYS = ['traceparent', 'tracestate', 'baggage'] as const;
const NONE: Envelope = {
  present: false,
  modern: false,
  revision: undefined,
  capabilities: undefined,
  logLevel: undefined,
  progressToken: undefined,
  trace: NO_TRACE,
  vendor: undefined,
};

export function readEnvelope(message: Pick<Located, 'bytes' | 'params' | 'meta'>): Envelope {
  const meta = findMember(message.params, '_meta');
  if (meta?.kind !== 'object') return NONE;
  const { bytes } = message;
  const members = message.meta ?? membersOf(bytes, meta);
  const version = findMember(members, PROTOCOL_VERSION);
  return {
    present: true,
    modern: version !== undefined,
    revision: stringOf(bytes, version),
    capabilities: findMember(members, CLIENT_CAPABILITIES),
    logLevel: findMember(members, LOG_LEVEL),
    progressToken: findMember(members, PROGRESS_TOKEN),
    trace: traceOf(bytes, members),
    vendor: vendorOf(bytes, members),
  };
}

function traceOf(bytes: Uint8Array, members: readonly Member[]): TraceContext {
  let trace: { -readonly [K in keyof TraceContext]: TraceContext[K] } | undefined;
  for (const key of TRACE_KEYS) {
    const value = stringOf(bytes, findMember(members, key));
    if (value === undefined) continue;
    trace ??= {};
    trace[key] = value;
  }
  return trace ?? NO_TRACE;
}

/** Reserved keys end here, and so do names that only we may set (protocol.md §5.0 I8, style §8 invariant 6). */
function isOurs(key: string): boolean {
  if (key === PROGRESS_TOKEN || key.startsWith(META_PREFIX)) return true;
  if (key.startsWith('lockkeeper/') || key.startsWith('lk/')) return true;
  return (TRACE_KEYS as readonly string[]).includes(key);
}

function vendorOf(bytes: Uint8Array, members: readonly Member[]): string | undefined {
  let text: string | undefined;
  for (const m of members) {
    if (isOurs(m.key)) continue;
    const one = textOf(bytes, { start: m.keyStart, end: m.end });
    text = text === undefined ? one : `${text},${one}`;
  }
  return text;
}

/** A token we may echo: a string or an integer, as its own JSON text (protocol.md §2.11 "Token type"). */
export function tokenText(bytes: Uint8Array, token: Member | undefined): string | undefined {
  if (token === undefined) return undefined;
  if (token.kind === 'string') return textOf(bytes, token);
  if (token.kind === 'number' && Number.isInteger(parseSpan(bytes, token))) return textOf(bytes, token);
  return undefined;
}
