// The legacy ladder (protocol.md §3.1): which session this request belongs to, or none; whether the version header
// agrees; what may be asked without a session (design §7, GB-008). Decides, never replies.

import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { Refusal } from '../../errors.ts';
import type { Authenticated } from '../../exchange.ts';
import type { Headers, Located } from '../../http/contract.ts';
import { negotiate, sessionlessRevision } from '../../session/negotiate.ts';
import type { Session, TransportKind } from '../../session/record.ts';
import type { Found, Sessions } from '../../session/sessions.ts';
import type { LegacyCaller } from './contract.ts';

export type Gated =
  | { readonly kind: 'caller'; readonly caller: LegacyCaller }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

export type Admitted =
  | { readonly kind: 'session'; readonly session: Session }
  | { readonly kind: 'none' }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

export interface Gate {
  /** The session that the header names. */
  session(ticket: Authenticated, headers: Headers): Promise<Admitted>;
  /** By id, for the HTTP+SSE endpoint. */
  named(ticket: Authenticated, id: string, transport: TransportKind): Promise<Admitted>;
  caller(ticket: Authenticated, headers: Headers, messages: readonly Located[]): Promise<Gated>;
}

/** Lists and calls, and what needs nothing of a session. */
const SESSIONLESS: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'ping',
]);

export function createGate(sessions: Sessions, seen: (session: Session, ticket: Authenticated) => void): Gate {
  async function named(ticket: Authenticated, id: string, transport: TransportKind): Promise<Admitted> {
    const admitted = admit(await sessions.find(ticket, id), transport);
    if (admitted.kind === 'session') seen(admitted.session, ticket);
    return admitted;
  }

  async function session(ticket: Authenticated, headers: Headers): Promise<Admitted> {
    const id = single(headers[HEADER.session]);
    return id === undefined || id === '' ? { kind: 'none' } : await named(ticket, id, 'streamable');
  }

  return {
    named,
    session,
    async caller(ticket, headers, messages) {
      const admitted = await session(ticket, headers);
      if (admitted.kind === 'refusal') return admitted;
      if (admitted.kind === 'none') return sessionless(ticket, headers, messages);
      const caller = callerOf(admitted.session);
      const wrong = checkVersion(headers, caller.revision);
      return wrong === null ? { kind: 'caller', caller } : { kind: 'refusal', refusal: wrong };
    },
  };
}

function admit(found: Found, transport: TransportKind): Admitted {
  if (found.kind === 'unreadable') return { kind: 'refusal', refusal: { reason: 'unreadable' } };
  // The id of one transport is no name on the other.
  if (found.kind === 'unknown' || found.session.record.transport !== transport) {
    return { kind: 'refusal', refusal: { reason: 'session-unknown' } };
  }
  return { kind: 'session', session: found.session };
}

/** HTTP+SSE before `initialize` counts as the oldest revision. */
export function callerOf(session: Session): LegacyCaller {
  const { revision, capabilities, logLevel } = session.record;
  return { session, revision: revision ?? '2024-11-05', capabilities, logLevel: logLevel ?? undefined };
}

/** Defined from 2025-06-18 on: absent is the session's own, anything but the negotiated one is 400 (§3.2). */
export function checkVersion(headers: Headers, revision: string): Refusal | null {
  const header = headers[HEADER.version];
  if (header === undefined || !atLeast(revision, '2025-06-18') || header === revision) return null;
  return {
    reason: 'invalid-request',
    message: `MCP-Protocol-Version must be ${revision}, which this session has negotiated.`,
    next: 'Send that one, or initialize again.',
  };
}

function sessionless(ticket: Authenticated, headers: Headers, messages: readonly Located[]): Gated {
  const refused = messages.find((m) => m.kind === 'response' || (m.kind === 'request' && !SESSIONLESS.has(m.method!)));
  if (refused !== undefined) return { kind: 'refusal', refusal: { reason: 'session-missing' } };
  const header = single(headers[HEADER.version]);
  const revision = sessionlessRevision(header, ticket.route);
  if (revision === null) {
    const latest = negotiate('', ticket.route) ?? 'none';
    const message = `This MCP-Protocol-Version is not served here; the latest revision with initialize is ${latest}.`;
    return {
      kind: 'refusal',
      refusal: { reason: 'invalid-request', message, next: 'Send initialize to agree on one.' },
    };
  }
  return { kind: 'caller', caller: { session: null, revision, capabilities: {}, logLevel: undefined } };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
