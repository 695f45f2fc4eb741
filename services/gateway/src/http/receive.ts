// The first stage of the walk (protocol.md §2.1 #1–#2a): is there such a path, may this page and this name be used,
// is the verb one of the path's. Pure: headers and path in, a target or an answer out.

import type { IncomingHttpHeaders } from 'node:http';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { servesLegacy } from '../era/served.ts';
import type { Reason } from '../errors.ts';
import { corsHeaders, hostAllowed, isPreflight, originAllowed, preflightHeaders } from './origin.ts';
import { findTarget, type Target } from './paths.ts';
import { readTarget } from './request-target.ts';

export type Received =
  | { readonly kind: 'unknown-path' }
  | { readonly kind: 'unreadable-host'; readonly why: 'two-hosts' | 'no-target' }
  | { readonly kind: 'metadata'; readonly verb: 'GET' | 'OPTIONS'; readonly body: string }
  | { readonly kind: 'refused'; readonly target: McpTarget; readonly reason: Reason; readonly headers: HeaderSet }
  | { readonly kind: 'preflight'; readonly headers: HeaderSet }
  | {
      readonly kind: 'received';
      readonly target: McpTarget;
      readonly verb: Verb;
      readonly query: string;
      readonly cors: HeaderSet;
    };

export type Verb = 'GET' | 'POST' | 'DELETE';
export type McpTarget = Exclude<Target, { kind: 'metadata' }>;
type HeaderSet = Record<string, string>;

export interface Arrival {
  /** The request target as it came. */
  readonly url: string;
  readonly verb: string;
  readonly headers: IncomingHttpHeaders;
  readonly localPort: number | undefined;
  /** Node shows only the first of two headers. */
  readonly rawHeaders: readonly string[];
}

export function receive(snapshot: Snapshot, arrival: Arrival): Received {
  const { verb, headers } = arrival;
  if (namesTwoHosts(arrival.rawHeaders)) return { kind: 'unreadable-host', why: 'two-hosts' };
  const asked = readTarget(arrival.url, headers.host);
  if (asked === null) return { kind: 'unreadable-host', why: 'no-target' };
  const target = findTarget(snapshot, asked.path);
  if (target === undefined) return { kind: 'unknown-path' };
  if (target.kind === 'metadata') return receiveMetadata(snapshot, target.body, verb, asked.host);
  const origin = headers.origin;
  const verbs = verbsOf(target);
  if (origin !== undefined && !originAllowed(snapshot, origin, arrival.localPort)) return refused(target, 'origin');
  if (!hostAllowed(snapshot, asked.host)) return refused(target, 'host');
  const cors = corsHeaders(origin);
  if (isPreflight(verb, headers) && origin !== undefined) {
    return { kind: 'preflight', headers: { ...cors, ...preflightHeaders(headers, verbs.join(', ')) } };
  }
  const known = verbs.find((v) => v === verb);
  if (known === undefined) return refused(target, 'verb', { ...cors, allow: verbs.join(', ') });
  return { kind: 'received', target, verb: known, query: asked.query, cors };
}

function refused(target: McpTarget, reason: Reason, headers: HeaderSet = {}): Received {
  return { kind: 'refused', target, reason, headers };
}

/** Who is meant depends on who reads it (RFC 9112 §3.2). */
function namesTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

/** The document is for everybody: no token, any page (RS-3, GB-105). */
function receiveMetadata(snapshot: Snapshot, body: string, verb: string, host: string | undefined): Received {
  if (!hostAllowed(snapshot, host)) return { kind: 'unknown-path' };
  if (verb === 'GET' || verb === 'HEAD') return { kind: 'metadata', verb: 'GET', body };
  return verb === 'OPTIONS' ? { kind: 'metadata', verb, body } : { kind: 'unknown-path' };
}

const READ_ONLY: readonly Verb[] = ['GET'];
const POST_ONLY: readonly Verb[] = ['POST'];
const ALL: readonly Verb[] = ['GET', 'POST', 'DELETE'];

/** A modern-only route has no GET and no DELETE (protocol.md §2.1 #2). */
function verbsOf(target: McpTarget): readonly Verb[] {
  if (target.kind === 'sse') return READ_ONLY;
  return target.kind === 'mcp' && servesLegacy(target.place.route) ? ALL : POST_ONLY;
}
