// -32042 of a 2025-11-25 server: the call is over until its user has been to these URLs (protocol.md §5.2). Only in a
// method that can be answered by a question; anywhere else it is an error (Part 7 #13).

import { URL_ELICITATION_REQUIRED } from '@lockkeeper/protocol/jsonrpc/codes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Visit } from '../contract.ts';
import { fault, type Outcome } from '../result/outcome.ts';
import { dataOf, type UpstreamError } from '../result/upstream-error.ts';

const MAX_VISITS = 32;

/** Null: another error, or one that does not say where to go. */
export function visitsOf(head: Open, error: UpstreamError): Outcome | null {
  if (error.code !== URL_ELICITATION_REQUIRED) return null;
  const entries = dataOf(error)?.elicitations;
  const visits = Array.isArray(entries) ? entries.slice(0, MAX_VISITS + 1).map(visitOf) : [];
  if (visits.length === 0 || visits.length > MAX_VISITS || visits.includes(null)) return null;
  const words = `the server wants its user to visit a URL first: ${error.message}`;
  const plain = fault('upstream', words, { mayHaveRun: false });
  if (plain.kind !== 'fault' || MODERN_METHODS.get(head.method)?.mrtr !== true) return plain;
  return { kind: 'visits', visits: visits as Visit[], head: plain.head };
}

function visitOf(entry: unknown): Visit | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { elicitationId, url, message } = entry as Record<string, unknown>;
  if (typeof elicitationId !== 'string' || typeof url !== 'string' || !URL.canParse(url)) return null;
  return { elicitationId, url, message: typeof message === 'string' ? message : '' };
}
