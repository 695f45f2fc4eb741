// HTTP statuses in words (protocol.md Part 6 #32): what a server says of our credentials is the operator's to mend and
// never its client's to hear as its own. Bodies are not quoted: they may be pages of HTML, or hold anything.

import type { RequestFailure } from '../../child/contract.ts';

export interface StatusFacts {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Unix ms. */
  readonly now: number;
}

const MAX_RETRY_MS = 3_600_000;
const DEFAULT_RETRY_MS = 5_000;

export function failureOfStatus(facts: StatusFacts): RequestFailure {
  const { status } = facts;
  if (status === 401 || status === 403) return denied(status);
  if (status === 429) return { ...busy(facts), words: 'it takes no more requests from Lockkeeper now (HTTP 429)' };
  // It says itself that it did not take it.
  if (status === 503 && facts.headers.has('retry-after')) {
    return { ...busy(facts), words: 'it is not available now (HTTP 503)' };
  }
  const words = `it answered with HTTP ${status}${meaning(status)}`;
  // A request that is refused as such has not run; 408 is said of one that was not read to its end, or of a slow answer.
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'lost', words, mayHaveRun: false, status };
  return { kind: 'lost', words, mayHaveRun: true, status };
}

function denied(status: 401 | 403): RequestFailure {
  const words =
    status === 401
      ? "it does not accept Lockkeeper's credentials (HTTP 401): its operator must set valid ones (http.headers or http.credential)"
      : "it does not allow this with Lockkeeper's credentials (HTTP 403): its operator must give them the right to it";
  return { kind: 'denied', words, mayHaveRun: false, status };
}

function busy({ status, headers, now }: StatusFacts): Omit<RequestFailure, 'words'> {
  return { kind: 'busy', mayHaveRun: false, status, retryAfterMs: retryAfter(headers.get('retry-after'), now) };
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function retryAfter(value: string | undefined, now: number): number {
  if (value === undefined) return DEFAULT_RETRY_MS;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? DEFAULT_RETRY_MS : Math.min(MAX_RETRY_MS, Math.max(0, ms));
}

function meaning(status: number): string {
  const known = MEANINGS.get(status);
  return known === undefined ? '' : ` (${known})`;
}

const MEANINGS: ReadonlyMap<number, string> = new Map([
  [202, 'it took the request and gave no answer'],
  [204, 'it took the request and gave no answer'],
  [404, 'nothing is there'],
  [405, 'it does not take this kind of request there'],
  [406, 'it cannot answer in a form that MCP has'],
  [413, 'the request is too large for it'],
  [415, 'it does not take JSON there'],
  [431, 'the headers of the request are too large for it'],
  [500, 'it failed'],
  [502, 'a proxy before it did not reach it'],
  [503, 'it is not available'],
  [504, 'a proxy before it waited too long for it'],
]);
