// `initialize` of a legacy client (protocol.md §3.5, §5.3 "handshake"): the revision is negotiated, the result is made
// from what the route offers, and the session comes to be only once that has worked. The transport keeps the session.

import { findMember, parseSpan } from '@lockkeeper/protocol/json/scan';
import type { LegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import { readEnvelope } from '../../era/envelope.ts';
import type { Refusal } from '../../errors.ts';
import type { Authenticated, Exchange } from '../../exchange.ts';
import type { Located } from '../../http/contract.ts';
import { byteLength } from '../../http/pieces.ts';
import { mergeTrace } from '../../observe/trace.ts';
import { cutClientCapabilities, cutImplementation, cutServerCapabilities } from '../../session/capabilities.ts';
import { negotiate } from '../../session/negotiate.ts';
import type { SessionRecord } from '../../session/record.ts';
import type { Opened } from '../../session/sessions.ts';
import type { InitializeInfo, LegacyDeps, Message } from './contract.ts';
import { exchangeOf } from './forward.ts';
import { resultText } from './text.ts';

export type Greeting = Pick<SessionRecord, 'capabilities' | 'clientInfo'> & { readonly revision: LegacyRevision };

export type Initialized =
  | { readonly kind: 'response'; readonly response: Message }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

export interface InitializeTerms {
  readonly ticket: Authenticated;
  readonly message: Located;
  /** The session's hash, already known: a `session` process may be started for it. */
  readonly hash: string;
  /** Writes the session; called when everything else has worked. */
  readonly keep: (greeting: Greeting) => Promise<Opened>;
  /** The HTTP status that this goes out with; null: nobody is there any more. */
  readonly status: (done: Initialized) => number | null;
}

/** Beyond this a declaration is no capability object but a load. */
const MAX_CAPABILITIES = 32 * 1024;
const MAX_CLIENT_INFO = 16 * 1024;

export function createInitialize(deps: Pick<LegacyDeps, 'initializeInfo' | 'recorder' | 'serverInfo'>) {
  return async function initialize(terms: InitializeTerms): Promise<Initialized> {
    const { ticket, message } = terms;
    const greeting = readGreeting(ticket, message);
    const recording = deps.recorder.begin(ticket, {
      era: 'legacy',
      revision: greeting.kind === 'greeting' ? greeting.revision : null,
      method: 'initialize',
      bytesIn: message.span.end - message.span.start,
      trace: mergeTrace(ticket.trace, readEnvelope(message).trace),
    });
    const done = greeting.kind === 'refusal' ? greeting : await welcome(terms, greeting, recording.trace);
    const bytesOut = done.kind === 'response' ? byteLength(done.response) : 0;
    const outcome = done.kind === 'response' ? 'ok' : done.refusal.reason;
    recording.end({ outcome, status: terms.status(done), bytesOut });
    return done;
  };

  async function welcome(terms: InitializeTerms, greeting: Greeting, trace: Exchange['trace']): Promise<Initialized> {
    const { ticket, message } = terms;
    const caller = { session: null, logLevel: undefined, ...greeting };
    const exchange = exchangeOf({ ticket, caller, xid: ticket.xid }, trace, new AbortController().signal);
    const info = await deps.initializeInfo({ ...exchange, session: terms.hash });
    if (info.kind === 'refusal') return info;
    const kept = await terms.keep(greeting);
    if (kept.kind !== 'found') return refusalOf(kept);
    return {
      kind: 'response',
      response: resultText(message.idText ?? 'null', [resultOf(info, greeting.revision)]),
    };
  }

  function resultOf(info: Extract<InitializeInfo, { kind: 'info' }>, revision: LegacyRevision): string {
    return JSON.stringify({
      protocolVersion: revision,
      capabilities: cutServerCapabilities(info.capabilities, revision),
      serverInfo: cutImplementation(deps.serverInfo, revision),
      ...(info.instructions === undefined ? {} : { instructions: info.instructions }),
    });
  }
}

function refusalOf(opened: Exclude<Opened, { kind: 'found' }>): Initialized {
  switch (opened.kind) {
    case 'full':
      return { kind: 'refusal', refusal: { reason: 'too-many', message: 'This caller has too many sessions.' } };
    case 'unknown':
      return { kind: 'refusal', refusal: { reason: 'session-unknown' } };
    case 'unreadable':
      return { kind: 'refusal', refusal: { reason: 'unreadable' } };
  }
}

type Read = (Greeting & { readonly kind: 'greeting' }) | { readonly kind: 'refusal'; readonly refusal: Refusal };

function readGreeting(ticket: Authenticated, message: Located): Read {
  const value = (key: string): unknown => {
    const member = findMember(message.params, key);
    return member === undefined ? undefined : parseSpan(message.bytes, member);
  };
  const offered = value('protocolVersion');
  if (typeof offered !== 'string') return invalid('params.protocolVersion must be a string.');
  const revision = negotiate(offered, ticket.route);
  if (revision === null) return { kind: 'refusal', refusal: { reason: 'unknown-method' } };
  const declared = value('capabilities') ?? {};
  if (typeof declared !== 'object' || Array.isArray(declared)) return invalid('params.capabilities must be an object.');
  const capabilities = cutClientCapabilities(declared, revision);
  if (JSON.stringify(capabilities).length > MAX_CAPABILITIES) return invalid('params.capabilities is too large.');
  const info = JSON.stringify(value('clientInfo') ?? null);
  return { kind: 'greeting', revision, capabilities, clientInfo: info.length > MAX_CLIENT_INFO ? null : info };
}

function invalid(message: string): Read {
  return { kind: 'refusal', refusal: { reason: 'invalid-params', message } };
}
