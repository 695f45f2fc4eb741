// What must be true of every HTTP request that Lockkeeper makes to a server, whatever it is about: the headers of each
// revision, built for this hop and for nobody else's (protocol.md §4.3–§4.5; auth-security.md UP-1). One sentence a breach.

import type { HttpEntry } from '../servers/http/recorder.ts';
import type { Era, Json } from './cell.ts';

const META = 'io.modelcontextprotocol/';
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
/** Of the client's hop, or of a proxy's. */
const NEVER = ['authorization', 'cookie', 'proxy-authorization', 'forwarded', 'x-forwarded-for', 'origin'];

type Say = (what: string) => void;
type Request = Required<Pick<HttpEntry, 'http'>> & Pick<HttpEntry, 'message'>;

/** `sse`: replies to POSTs are no answers, so nothing is said of their form. */
function always({ http, message }: Request, sse: boolean, say: Say): void {
  const { headers, verb } = http;
  for (const name of NEVER) if (headers[name] !== undefined) say(`carries ${name}`);
  if (verb === 'POST') {
    if (headers['content-type'] !== 'application/json') say(`content-type ${headers['content-type']}`);
    for (const type of ['application/json', 'text/event-stream']) {
      if (!sse && !headers.accept?.includes(type)) say(`accept without ${type}`);
    }
    if (message?.jsonrpc !== '2.0') say('is no JSON-RPC message');
  }
}

function modern({ http, message }: Request, say: Say): void {
  const { headers, verb } = http;
  if (verb !== 'POST') say('has no place in 2026-07-28');
  const params = (message?.params ?? {}) as Json;
  const meta = (params._meta ?? {}) as Json;
  if (headers['mcp-protocol-version'] !== meta[`${META}protocolVersion`]) say('version header is not the body’s');
  if (headers['mcp-method'] !== message?.method) say('Mcp-Method is not the body’s');
  const field = NAMED[String(message?.method)];
  if (headers['mcp-name'] !== (field === undefined ? undefined : params[field])) say('Mcp-Name is not the body’s');
  if (headers['mcp-session-id'] !== undefined) say('carries a session id');
  if (meta[`${META}clientCapabilities`] === undefined) say('declares no capabilities');
}

/** `sse`: sessions are in the URL and versions in no header. */
function legacy(kind: 'streamable' | 'sse', { http, message }: Request, say: Say): void {
  const { headers } = http;
  for (const name of Object.keys(headers)) {
    if (/^mcp-(method|name|param-.*)$/.test(name)) say(`carries ${name}, which its revision does not know`);
  }
  const begins = message?.method === 'initialize';
  const version = headers['mcp-protocol-version'];
  if (begins && headers['mcp-session-id'] !== undefined) say('has a session before there is one');
  if (kind === 'streamable' && !begins && version === undefined) say('has no version header');
}

/** Probes are modern at whatever server, so they are left out. */
const isProbe = ({ message }: Request) => message?.method === 'server/discover';

export function requestFaults(era: Era, sse: boolean, entries: readonly HttpEntry[]): readonly string[] {
  const faults: string[] = [];
  for (const entry of entries) {
    const request = entry as Request;
    const what = `${request.http.verb} ${String(request.message?.method ?? (request.message ? 'response' : ''))}`;
    const say: Say = (words) => void faults.push(`${what.trim()} ${words}`);
    always(request, sse, say);
    if (era === 'modern') modern(request, say);
    else if (!isProbe(request)) legacy(sse ? 'sse' : 'streamable', request, say);
  }
  return faults;
}

/** Where there are sessions, everything after the beginning names one. */
export function sessionFaults(entries: readonly HttpEntry[]): readonly string[] {
  return entries
    .map((entry) => entry as Request)
    .filter((request) => request.message?.method !== 'initialize' && !isProbe(request))
    .filter(({ http }) => http.headers['mcp-session-id'] === undefined)
    .map(({ http, message }) => `${http.verb} ${String(message?.method ?? '')} without a session`);
}
