// `server/discover` as the first thing an unknown process is ever sent, and what its answer says about the era
// (protocol.md §4.2). No single code decides; whatever is not recognisably modern is legacy (GB-034, GB-035, GB-037).

import { findMember, type Member, membersOf, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_REVISION } from '@lockkeeper/protocol/jsonrpc/codes';
import type { Implementation, ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO } from '@lockkeeper/protocol/mcp/meta';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { isLegacyRevision, isModernRevision, MODERN, MODERN_REVISIONS } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason, RequestFailure } from '../../child/contract.ts';
import { speaksForOlder } from '../http-evidence.ts';
import { dataOf, readError } from '../result/upstream-error.ts';
import { ask, type Reply } from '../wire/ask.ts';
import type { Wire } from '../wire/wire.ts';

export type Finding =
  | { readonly kind: 'modern'; readonly profile: Profile; readonly scope: 'public' | 'private' }
  /** Modern, but no revision in common: `initialize` must not be tried (GB-039). */
  | { readonly kind: 'no-common'; readonly words: string }
  /** `weak`: by silence or exit; a slow modern server looks the same. */
  | { readonly kind: 'legacy'; readonly evidence: string; readonly weak: boolean }
  /** The command never ran: no evidence of anything. */
  | { readonly kind: 'failed'; readonly exit: ExitReason; readonly denied?: boolean };

export interface DiscoverOptions {
  readonly clientInfo: Implementation;
  readonly deadlineMs: number;
  readonly clock: Clock;
}

/** Where the server would not say: nothing is held back from it for want of a declaration. */
const ASSUMED: ServerCapabilities = { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} };

export async function discover(wire: Wire, o: DiscoverOptions): Promise<Finding> {
  const first = await askOnce(wire, MODERN, o);
  const finding = judged(first, o);
  if (finding !== 'again') return finding;
  const second = judged(await askOnce(wire, MODERN, o), o);
  return second === 'again' ? assumed('-32022 with a list', o) : second;
}

function askOnce(wire: Wire, revision: string, o: DiscoverOptions): Promise<Reply> {
  const meta = `"${PROTOCOL_VERSION}":"${revision}","${CLIENT_INFO}":${JSON.stringify(o.clientInfo)},"${CLIENT_CAPABILITIES}":{}`;
  return ask(wire, 'server/discover', () => meta, new Uint8Array(0), o.deadlineMs, o.clock);
}

function judged(reply: Reply, o: DiscoverOptions): Finding | 'again' {
  switch (reply.kind) {
    case 'silent':
      return { kind: 'legacy', evidence: 'no answer to server/discover', weak: true };
    case 'spoiled':
      return { kind: 'legacy', evidence: `unusable answer to server/discover: ${reply.words}`, weak: true };
    case 'ended':
      if (reply.exit.kind === 'spawn-failed') return { kind: 'failed', exit: reply.exit };
      return { kind: 'legacy', evidence: 'ended on server/discover', weak: true };
    case 'failed':
      return unanswered(reply.failure);
    case 'answer':
      return reply.error === undefined ? result(reply.line, reply.members, o) : refused(reply.line, reply.error, o);
  }
}

/** Over HTTP (protocol.md §4.2): a 4xx without a modern body speaks for an older server; what is no evidence says nothing. */
function unanswered({ kind, words, status }: RequestFailure): Finding {
  if (speaksForOlder(status)) return { kind: 'legacy', evidence: `HTTP ${status} to server/discover`, weak: false };
  // Some take what they do not know for a notification, or show a page: only `initialize` can tell.
  if (kind === 'protocol')
    return { kind: 'legacy', evidence: `unusable answer to server/discover: ${words}`, weak: true };
  return { kind: 'failed', exit: { kind: 'spawn-failed', code: null, signal: null, words }, denied: kind === 'denied' };
}

function result(line: Uint8Array, members: readonly Member[], o: DiscoverOptions): Finding {
  const supported = stringsAt(line, findMember(members, 'supportedVersions'));
  if (supported === null)
    return { kind: 'legacy', evidence: 'answered server/discover with something else', weak: false };
  const choice = choose(supported);
  if (choice.kind !== 'modern') return choice.finding;
  const scope = stringOf(line, findMember(members, 'cacheScope')) === 'public' ? 'public' : 'private';
  return { kind: 'modern', scope, profile: profileOf(line, members, choice.revision, supported, o.clock.now()) };
}

/** A DiscoverResult as what we keep of it. */
export function profileOf(
  line: Uint8Array,
  members: readonly Member[],
  revision: string,
  supported: readonly string[],
  foundAt: number,
): Profile {
  const capabilities = findMember(members, 'capabilities');
  const instructions = stringOf(line, findMember(members, 'instructions'));
  const meta = findMember(members, '_meta');
  const info = meta?.kind === 'object' ? findMember(membersOf(line, meta), SERVER_INFO) : undefined;
  return {
    era: 'modern',
    revision,
    supported,
    capabilities: capabilities?.kind === 'object' ? (parseSpan(line, capabilities) as ServerCapabilities) : {},
    ...(info?.kind === 'object' ? { serverInfo: JSON.parse(textOf(line, info)) as Implementation } : {}),
    ...(instructions === undefined ? {} : { instructions }),
    foundAt,
    evidence: 'server/discover answered',
  };
}

function refused(line: Uint8Array, member: Member, o: DiscoverOptions): Finding | 'again' {
  const error = readError(line, member);
  if (error.code === HEADER_MISMATCH || error.code === MISSING_CLIENT_CAPABILITY) {
    return assumed(`${error.code} to server/discover`, o);
  }
  const listed = error.code === UNSUPPORTED_REVISION ? strings(dataOf(error)?.supported) : null;
  if (listed === null) return { kind: 'legacy', evidence: `error ${error.code} to server/discover`, weak: false };
  const choice = choose(listed);
  return choice.kind === 'modern' ? 'again' : choice.finding;
}

type Choice =
  | { readonly kind: 'modern'; readonly revision: string }
  | { readonly kind: 'other'; readonly finding: Finding };

function choose(supported: readonly string[]): Choice {
  const revision = MODERN_REVISIONS.find((r) => supported.includes(r));
  if (revision !== undefined) return { kind: 'modern', revision };
  if (supported.some(isLegacyRevision)) {
    return { kind: 'other', finding: { kind: 'legacy', evidence: 'names only legacy revisions', weak: false } };
  }
  const theirs = supported
    .slice(0, 8)
    .map((r) => r.slice(0, 40))
    .join(', ');
  const words = `it speaks protocol versions ${theirs || '(none)'}; Lockkeeper speaks ${[...MODERN_REVISIONS].join(', ')} and the legacy ones`;
  return { kind: 'other', finding: { kind: 'no-common', words } };
}

function assumed(evidence: string, o: DiscoverOptions): Finding {
  const profile: Profile = {
    era: 'modern',
    revision: MODERN,
    supported: [MODERN],
    capabilities: ASSUMED,
    foundAt: o.clock.now(),
    evidence,
  };
  return { kind: 'modern', profile, scope: 'public' };
}

/** A revision in common, from a -32022's list; undefined when there is none. */
export function commonRevision(listed: unknown): string | undefined {
  return strings(listed)?.find(isModernRevision);
}

function stringsAt(line: Uint8Array, member: Member | undefined): string[] | null {
  return member?.kind === 'array' ? strings(parseSpan(line, member)) : null;
}

function strings(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  return value.every((v) => typeof v === 'string') ? (value as string[]) : null;
}
