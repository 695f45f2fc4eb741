// The ladder of a modern request from #12 to #19 (protocol.md §2.1): each rung is one rule that returns a refusal or
// nothing, and the list below is their order. Pure. What needs the catalogue of a server (#19 names, #20, #22) is
// judged by the answer; nothing here trusts a header before it has been held against the body.

import { findMember, stringOf } from '@lockkeeper/protocol/json/scan';
import { decodeHeaderValue, HEADER } from '@lockkeeper/protocol/mcp/headers';
import { CLIENT_CAPABILITIES, isLogLevel, LOG_LEVEL, PROTOCOL_VERSION } from '@lockkeeper/protocol/mcp/meta';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { isModernRevision } from '@lockkeeper/protocol/mcp/revision';
import { type Envelope, tokenText } from '../era/envelope.ts';
import { servedRevisions, supportedFor } from '../era/served.ts';
import type { Refusal } from '../errors.ts';
import type { Authenticated } from '../exchange.ts';
import type { Headers, Located } from '../http/contract.ts';
import { readDeclared } from './declared.ts';

export interface Climbing {
  readonly route: Authenticated['route'];
  readonly headers: Headers;
  readonly message: Located;
  readonly envelope: Envelope;
}

type Rung = (climbing: Climbing) => Refusal | null;

const LADDER: readonly Rung[] = [
  refuseVersionHeader, // #12
  refuseEnvelope, // #13
  refuseRevision, // #14
  refuseMethodHeader, // #15
  refuseNameHeader, // #16
  refuseMethod, // #17, #18
  refuseLogLevel, // #19
  refuseProgressToken, // #19
];

export function climb(climbing: Climbing): Refusal | null {
  for (const rung of LADDER) {
    const refusal = rung(climbing);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** Without a revision in the body there is nothing to compare: that is #13's finding (Part 7 #2). */
function refuseVersionHeader({ headers, envelope }: Climbing): Refusal | null {
  const header = headers[HEADER.version];
  if (header === undefined) return mismatch('The MCP-Protocol-Version header is missing.');
  if (envelope.revision === undefined || header === envelope.revision) return null;
  return mismatch(`The MCP-Protocol-Version header differs from params._meta["${PROTOCOL_VERSION}"].`);
}

function refuseEnvelope({ message, envelope }: Climbing): Refusal | null {
  if (!envelope.present) return lacks('params._meta is missing or not an object.');
  if (envelope.revision === undefined) return lacks(`params._meta["${PROTOCOL_VERSION}"] must be a string.`);
  const { capabilities } = envelope;
  if (capabilities?.kind !== 'object') return lacks(`params._meta["${CLIENT_CAPABILITIES}"] must be an object.`);
  const declared = readDeclared(message.bytes, capabilities);
  if (declared.kind === 'capabilities') return null;
  return lacks(`params._meta["${CLIENT_CAPABILITIES}"].${declared.key} must be an object.`);
}

function refuseRevision({ route, envelope }: Climbing): Refusal | null {
  const requested = envelope.revision ?? '';
  if (isModernRevision(requested)) return null;
  return { reason: 'revision', data: JSON.stringify({ supported: supportedFor(route, requested), requested }) };
}

function refuseMethodHeader({ headers, message }: Climbing): Refusal | null {
  const header = headers[HEADER.method];
  if (header === undefined) return mismatch('The Mcp-Method header is missing.');
  return header === message.method ? null : mismatch('The Mcp-Method header differs from the method.');
}

/** tasks/*: a wrong one is refused, a missing one is not (Part 7 #7). */
function refuseNameHeader({ headers, message }: Climbing): Refusal | null {
  const key = MODERN_METHODS.get(message.method ?? '')?.nameKey;
  if (key === undefined) return null;
  const header = headers[HEADER.name];
  if (header === undefined) return key === 'taskId' ? null : mismatch('The Mcp-Name header is missing.');
  const sent = typeof header === 'string' ? decodeHeaderValue(header) : null;
  if (sent === null) return mismatch('The Mcp-Name header is not valid base64 of UTF-8 text.');
  const named = stringOf(message.bytes, findMember(message.params, key));
  if (named === undefined) return { reason: 'invalid-params', message: `params.${key} must be a string.` };
  return sent === named ? null : mismatch(`The Mcp-Name header differs from params.${key}.`);
}

/** Removed methods are simply not in the registry; a client that wants `initialize` is told what is served (#18). */
function refuseMethod({ route, message }: Climbing): Refusal | null {
  const method = message.method ?? '';
  if (MODERN_METHODS.has(method)) return null;
  if (method !== 'initialize') return { reason: 'unknown-method' };
  const supported = servedRevisions(route);
  return {
    reason: 'unknown-method',
    message: `Method not found: this revision has no initialize. Served here: ${supported.join(', ')}.`,
    next: 'To initialize an older one, leave out the modern envelope and header.',
    data: JSON.stringify({ supported }),
  };
}

function refuseLogLevel({ message, envelope }: Climbing): Refusal | null {
  const { logLevel } = envelope;
  if (logLevel === undefined || isLogLevel(stringOf(message.bytes, logLevel))) return null;
  return { reason: 'invalid-params', message: `params._meta["${LOG_LEVEL}"] is not a log level.` };
}

function refuseProgressToken({ message, envelope }: Climbing): Refusal | null {
  const { progressToken } = envelope;
  if (progressToken === undefined || tokenText(message.bytes, progressToken) !== undefined) return null;
  return { reason: 'invalid-params', message: 'params._meta.progressToken must be a string or an integer.' };
}

function mismatch(message: string): Refusal {
  return { reason: 'header-mismatch', message };
}

function lacks(message: string): Refusal {
  return { reason: 'envelope', message };
}
