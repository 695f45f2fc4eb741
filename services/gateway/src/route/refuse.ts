// Refusals of the answer: faults of the link in words (design §8), upstream errors by protocol.md §5.1/§5.2, and the
// one wording for names that are unknown or denied. Upstream text never decides our status.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
} from '@lockkeeper/protocol/jsonrpc/codes';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { missing } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Reason, Refusal } from '../errors.ts';
import type { Answer, Ask, Exchange } from '../exchange.ts';
import type { CallFault, RouteLog } from './contract.ts';

export function refused(reason: Reason, more: Omit<Refusal, 'reason'> = {}): Answer {
  return { kind: 'refusal', refusal: { reason, ...more } };
}

/** The same words for what is not there and for what this caller may not know of (P-15, GB-120). */
export function unknownName(kind: 'tool' | 'prompt', name: string): Answer {
  return refused('unknown-name', { message: `Unknown ${kind}: ${name}` });
}

export function unknownResource(uri: string): Answer {
  const data = JSON.stringify({ uri });
  return refused('unknown-resource', { message: `Resource not found: ${uri}`, data, legacyCode: RESOURCE_NOT_FOUND });
}

export function refusalOf(fault: CallFault, spec: ServerSpec, era: Era | null, exchange: Exchange, ask: Ask): Refusal {
  const server = `Server "${spec.name}"`;
  const retry = fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs };
  switch (fault.reason) {
    case 'upstream':
      return relayed(fault, era, ask);
    case 'capability':
      return lacking(fault, spec, exchange);
    case 'start-failed':
      return { reason: 'start-failed', message: startWords(fault, spec), ...retry };
    case 'denied':
      return { reason: 'upstream-denied', message: sentence(capital(fault.message)) };
    case 'busy':
      return { reason: 'busy', message: busyWords(fault, spec), ...retry };
    case 'timeout':
      return fault.mayHaveRun
        ? { reason: 'timeout', message: `${server} did not answer in time.` }
        : { reason: 'timeout', message: `${server} did not answer in time; nothing has run.`, next: AGAIN };
    case 'lost':
      if (!fault.mayHaveRun && fault.message.startsWith(`server "${spec.name}" no longer has its state`)) {
        return { reason: 'lost', message: sentence(capital(fault.message)), next: AFRESH };
      }
      return fault.mayHaveRun
        ? { reason: 'lost', message: `${server} was lost during the call${lostWhy(fault)}; it may have run in part.` }
        : { reason: 'lost', message: `${server} was lost before the call reached it; nothing has run.`, next: AGAIN };
    case 'protocol':
      return { reason: 'upstream-protocol', message: sentence(`${server} broke the protocol: ${fault.message}`) };
    case 'too-large':
      return { reason: 'result-too-large', message: `The answer of server "${spec.name}" is larger than the limit.` };
    case 'too-slow':
      return { reason: 'too-slow' };
    case 'cancelled':
      return { reason: 'cancelled' };
    case 'unknown-exchange':
      return { reason: 'bad-state' };
    case 'refused':
      // The person said no, and the call was given up (protocol.md §5.3): nothing to try again.
      if (fault.mayHaveRun) return { reason: 'upstream', code: INTERNAL_ERROR, message: fault.message };
      return { reason: 'unavailable', message: unavailableWords(spec), ...retry };
    case 'stale-config':
    case 'moved':
    case 'draining':
    case 'unavailable':
      return { reason: 'unavailable', message: unavailableWords(spec), ...retry };
    case 'internal':
      return { reason: 'internal' };
  }
}

function unavailableWords(spec: ServerSpec): string {
  return `No pool manager can take calls to server "${spec.name}" now.`;
}

/** Where a node ended the server itself, it says why in words of its own; what a server did is the operator's to read. */
function lostWhy({ message }: CallFault): string {
  const lead = 'it was ended: ';
  return message.startsWith(lead) ? ` (${message.slice(lead.length)})` : '';
}

const AGAIN = 'Try again in a moment.';
const AFRESH = 'Calling again goes on with a fresh state.';

function startWords(fault: CallFault, spec: ServerSpec): string {
  const lead = `server "${spec.name}"`;
  // Of a server by URL the node says in its own words why it could not be used.
  return sentence(fault.message.startsWith(lead) ? fault.message : `${lead} could not be started: ${fault.message}`);
}

/** A server by URL may be the one that takes no more. */
function busyWords(fault: CallFault, spec: ServerSpec): string {
  const own = fault.message.startsWith(`server "${spec.name}"`);
  return own ? sentence(capital(fault.message)) : `All processes of server "${spec.name}" are busy.`;
}

function capital(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** More may be said behind it (errors.ts `next`). */
function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** The server's own error. Reserved codes mean nothing here or would mislead (protocol.md §2.12 last line). */
function relayed(fault: CallFault, era: Era | null, ask: Ask): Refusal {
  const code = shownCode(fault.code);
  const notFound = ask.method === 'resources/read' && code === INVALID_PARAMS;
  const asked = notFound && ask.name !== undefined ? JSON.stringify({ uri: ask.name }) : undefined;
  const data = fault.data ?? asked;
  const legacyCode = fault.legacyCode ?? legacyCodeOf(fault.code, code, era, notFound);
  return {
    reason: 'upstream',
    code,
    message: fault.message,
    ...(data === undefined ? {} : { data }),
    ...(legacyCode === undefined ? {} : { legacyCode }),
  };
}

function shownCode(code: number): number {
  if (code === INVALID_PARAMS || code === INTERNAL_ERROR) return code;
  if (code === RESOURCE_NOT_FOUND) return INVALID_PARAMS;
  return code >= -32768 && code <= -32000 ? INTERNAL_ERROR : code;
}

/** A legacy caller may see a legacy server's own code (protocol.md §5.4); a modern one's "not found" becomes its own. */
function legacyCodeOf(code: number, shown: number, era: Era | null, notFound: boolean): number | undefined {
  if (era === 'modern') return notFound ? RESOURCE_NOT_FOUND : undefined;
  return code === shown ? undefined : code;
}

/** -32021: shown only for what the client itself lacks; what we withheld is not its to mend (protocol.md §5.1). */
function lacking(fault: CallFault, spec: ServerSpec, exchange: Exchange): Refusal {
  const need = requiredOf(fault.data);
  const lacks = need === null ? null : missing(exchange.capabilities, need);
  if (need !== null && lacks === null) {
    const what = Object.keys(need).join(', ');
    const message = `Server "${spec.name}" needs a client capability that is withheld from it here: ${what}.`;
    return { reason: 'upstream', code: INTERNAL_ERROR, message };
  }
  const data = need === null ? JSON.stringify({ requiredCapabilities: {} }) : fault.data;
  return { reason: 'capability', message: fault.message, ...(data === undefined ? {} : { data }) };
}

function requiredOf(data: string | undefined): ClientCapabilities | null {
  if (data === undefined) return null;
  const parsed = JSON.parse(data) as { requiredCapabilities?: unknown } | null;
  const need = parsed?.requiredCapabilities;
  return typeof need === 'object' && need !== null ? (need as ClientCapabilities) : null;
}

/**
 * For faults that only the operator can mend: why, under the exchange id that the caller is shown. What the server said
 * on stderr is in the node's log, under the id named here where it is another one.
 */
export function tellOperator(log: RouteLog, fault: CallFault, spec: ServerSpec, exchange: Exchange): void {
  if (!['start-failed', 'denied', 'protocol'].includes(fault.reason)) return;
  const elsewhere = fault.from === undefined ? '' : ` (exchange ${fault.from})`;
  const { name: server, tenant } = spec;
  log.warn({ xid: exchange.xid, tenant, server, reason: `${fault.message}${elsewhere}` }, 'a server cannot be used');
}

/** A server that declares a method and does not know it counts as one that has nothing there (GB-100). */
export function isMethodNotFound(fault: CallFault): boolean {
  if (fault.reason !== 'upstream') return false;
  return fault.code === METHOD_NOT_FOUND || fault.legacyCode === METHOD_NOT_FOUND;
}
