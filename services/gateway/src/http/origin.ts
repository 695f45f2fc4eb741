// Who may call from a browser, and under which names we answer (protocol.md §2.1 #1, #1b; auth-security.md RS-10).
// Pure. A loopback deployment knows loopback names only, which is what stops DNS rebinding.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import type { Headers } from './contract.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);

interface Names {
  readonly loopback: boolean;
  readonly ownHost: string;
  readonly ownOrigin: string;
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  /** Spellings that were found to be allowed: clients send one again and again. */
  readonly spelt: Set<string>;
}

const MAX_SPELT = 64;

const known = new WeakMap<Snapshot, Names>();

function namesOf(snapshot: Snapshot): Names {
  let names = known.get(snapshot);
  if (names === undefined) {
    const own = new URL(snapshot.publicBaseUrl);
    names = {
      loopback: LOOPBACK.has(snapshot.listen.host),
      ownHost: own.host,
      ownOrigin: own.origin,
      hosts: new Set(snapshot.listen.allowedHosts.map((h) => h.toLowerCase())),
      origins: new Set(snapshot.listen.allowedOrigins),
      spelt: new Set(),
    };
    known.set(snapshot, names);
  }
  return names;
}

/** Absent is normal: programs that are no browser send none (Part 7 #41). `port` is the one we listen on. */
export function originAllowed(snapshot: Snapshot, origin: string, port: number | undefined): boolean {
  const names = namesOf(snapshot);
  if (names.origins.has(origin) || origin === names.ownOrigin) return true;
  return names.loopback && isOwnLoopback(origin, port);
}

/** A page that we could have served ourselves: a loopback name with our own port. */
function isOwnLoopback(origin: string, port: number | undefined): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname, port: theirs, origin: normal } = new URL(origin);
  return protocol === 'http:' && LOOPBACK.has(hostname) && normal === origin && Number(theirs || '80') === port;
}

/** Judged when listen.allowedHosts names some, and always on loopback. */
export function hostAllowed(snapshot: Snapshot, host: string | undefined): boolean {
  const names = namesOf(snapshot);
  if (!names.loopback && names.hosts.size === 0) return true;
  if (host === undefined) return false;
  if (names.spelt.has(host)) return true;
  const allowed = isAllowed(names, host);
  if (allowed && names.spelt.size < MAX_SPELT) names.spelt.add(host);
  return allowed;
}

function isAllowed(names: Names, host: string): boolean {
  const lower = host.toLowerCase();
  if (lower === names.ownHost || names.hosts.has(lower)) return true;
  const bare = lower.replace(/:\d*$/, '');
  return names.hosts.has(bare) || (names.loopback && LOOPBACK.has(bare));
}

const EXPOSED = 'WWW-Authenticate, Mcp-Session-Id, Retry-After, Lockkeeper-Exchange';
const ALLOWED_HEADERS = new Set<string>([
  ...['authorization', 'content-type', 'accept', 'traceparent', 'tracestate', 'baggage'],
  ...[HEADER.version, HEADER.method, HEADER.name, HEADER.session, HEADER.lastEventId],
]);

/** Headers of an answer to an allow-listed page. Without Origin there is nothing to add. */
export function corsHeaders(origin: string | undefined): Record<string, string> {
  if (origin === undefined) return {};
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED, vary: 'Origin' };
}

export function isPreflight(verb: string | undefined, headers: Headers): boolean {
  return verb === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Grants, of the headers asked for, those that an MCP client has a use for. */
export function preflightHeaders(headers: Headers, verbs: string): Record<string, string> {
  const asked = headers['access-control-request-headers'];
  const names = typeof asked === 'string' ? asked.split(',').map((n) => n.trim().toLowerCase()) : [];
  const granted = names.filter((n) => ALLOWED_HEADERS.has(n) || /^mcp-param-[a-z0-9!#$%&'*+.^_`|~-]+$/.test(n));
  return {
    'access-control-allow-methods': verbs,
    'access-control-allow-headers': granted.join(', '),
    'access-control-max-age': '600',
  };
}
