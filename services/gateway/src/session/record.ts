// What the store keeps of one legacy session (protocol.md §3.3, RS-23), and whose it is. Pure. Subscriptions and
// in-flight calls are sets of their own beside it (keys.ts), since they change without the rest.

import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { isLogLevel, type LogLevel } from '@lockkeeper/protocol/mcp/meta';
import { isLegacyRevision, type LegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Authenticated } from '../exchange.ts';

export type TransportKind = 'streamable' | 'sse';

export interface SessionRecord {
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string | null;
  readonly route: string;
  readonly transport: TransportKind;
  /** Null on HTTP+SSE between the GET and `initialize`. */
  readonly revision: LegacyRevision | null;
  /** What the client declared, cut to the revision (capabilities.ts). */
  readonly capabilities: ClientCapabilities;
  /** Raw text of the client's own Implementation; for people, never for decisions (protocol.md Part 6 #37). */
  readonly clientInfo: string | null;
  readonly logLevel: LogLevel | null;
  readonly initialized: boolean;
  readonly created: number;
  readonly lastSeen: number;
}

export interface Session {
  readonly id: string;
  readonly hash: string;
  readonly record: SessionRecord;
}

export function encodeRecord(record: SessionRecord): string {
  return JSON.stringify(record);
}

/** Null for text that no replica of ours wrote: such a session does not exist. */
export function decodeRecord(text: string): SessionRecord | null {
  try {
    const r = JSON.parse(text) as SessionRecord;
    const sound =
      typeof r.tenant === 'string' &&
      typeof r.subject === 'string' &&
      typeof r.created === 'number' &&
      (r.revision === null || isLegacyRevision(r.revision)) &&
      (r.logLevel === null || isLogLevel(r.logLevel));
    return sound ? r : null;
  } catch {
    return null; // not JSON
  }
}

/** Every field counts: one that differs makes the session as unknown as any (RS-23, GB-010, GB-011). */
export function belongsTo(record: SessionRecord, ticket: Authenticated): boolean {
  const { principal } = ticket.caller;
  return (
    record.tenant === principal.tenant &&
    record.tenant === ticket.route.tenant &&
    record.issuer === principal.issuer &&
    record.subject === principal.subject &&
    record.client === principal.client &&
    record.route === ticket.route.path
  );
}

/** Time left by both limits; 0 or less: it has ended. */
export function timeLeft(record: SessionRecord, limits: { sessionIdleMs: number; sessionMaxMs: number }, now: number) {
  return Math.min(limits.sessionIdleMs, record.created + limits.sessionMaxMs - now);
}
