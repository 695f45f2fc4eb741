// The gateway's catalogue of refusals (design §8): reason, whose fault, HTTP status and JSON-RPC code on the modern
// leg, whether a retry can help, and the words. http/refuse.ts is the only reader of status and code; nobody else
// picks numbers. protocol.md §2.12 is the list of codes a modern client may see; our own start at 10000. ops/errors.md
// is the same table for readers.

import { OF_CALLS } from './errors/calls.ts';
import { OF_REQUESTS } from './errors/requests.ts';
import type { Row } from './errors/row.ts';

export const CATALOGUE = { ...OF_REQUESTS, ...OF_CALLS } as const satisfies Record<string, Row>;

export type Reason = keyof typeof CATALOGUE;

/** A refusal is a value (style habit 3). `message` is what a stranger may see; nothing secret, nothing of a tenant. */
export interface Refusal {
  readonly reason: Reason;
  /** Defaults to the row's words. */
  readonly message?: string;
  /** Overrides the row's `next`, where what happened asks for something else. */
  readonly next?: string;
  /** Overrides the row's code: relayed upstream application codes only. */
  readonly code?: number;
  /** Raw JSON text of `error.data`. */
  readonly data?: string;
  /** For a legacy caller where it differs (-32002, protocol.md §5.3). */
  readonly legacyCode?: number;
  readonly retryAfterMs?: number;
}

export function row(reason: Reason): Row {
  return CATALOGUE[reason];
}
