// One row per exchange, written once, at its end (design §9): who, what, how it ended. Ids and names only; never
// arguments, results, tokens or headers (auth-security.md RD-1, RD-3).

import type { Era } from '@lockkeeper/protocol/mcp/revision';
import { cleanText } from '@lockkeeper/state/log/text';

export interface AuditRow {
  readonly xid: string;
  readonly tenant: string;
  readonly route: string;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly client: string | null;
  readonly era: Era | null;
  readonly revision: string | null;
  readonly method: string | null;
  readonly server: string | null;
  /** Tool, prompt or task name; a URI without its query. */
  readonly name: string | null;
  /** The rule of the policy by which the call was allowed or not; null where no name was judged. */
  readonly rule: string | null;
  /** Of a retry: the exchange it went on with. */
  readonly continues: string | null;
  /** `ok`, `input-required`, `tool-error`, `vanished`, or the reason of the refusal; of a failed sign-in with its detail. */
  readonly outcome: string;
  readonly detail: string | null;
  readonly status: number | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ms: number;
}

/** Identifiers come from strangers: bounded, and without anything that could forge a line (RD-6). */
export function auditName(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  const uri = value.includes('://') ? (value.split('?', 1)[0] ?? '') : value;
  return cleanText(uri, 256);
}
