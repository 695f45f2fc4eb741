// The introduction a legacy server wants: `initialize`, its answer checked, `notifications/initialized` (protocol.md
// §5.2, seeds: lifecycle). It has a deadline of its own (GB-036) and is never cancelled: a server that does not answer
// is ended instead.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities, Implementation, ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { isLegacyRevision, LEGACY_LATEST, LEGACY_REVISIONS } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import { speaksForOlder } from '../http-evidence.ts';
import { readError } from '../result/upstream-error.ts';
import { ask } from '../wire/ask.ts';
import type { Wire } from '../wire/wire.ts';

export type Introduction =
  | { readonly kind: 'ok'; readonly profile: Profile }
  /** It answered, but not as a legacy server does: the verdict may be wrong. */
  | { readonly kind: 'refused'; readonly words: string }
  | { readonly kind: 'failed'; readonly words: string; readonly denied?: boolean };

export interface IntroduceOptions {
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: Implementation;
  readonly deadlineMs: number;
  readonly evidence: string;
  readonly clock: Clock;
}

export async function introduce(wire: Wire, o: IntroduceOptions): Promise<Introduction> {
  const params = `"protocolVersion":"${LEGACY_LATEST}","capabilities":${JSON.stringify(o.capabilities)},"clientInfo":${JSON.stringify(o.clientInfo)}`;
  const answer = await ask(wire, 'initialize', () => '', bytesOf(params), o.deadlineMs, o.clock);
  switch (answer.kind) {
    case 'silent':
      return { kind: 'failed', words: `it did not answer initialize within ${o.deadlineMs} ms` };
    case 'ended':
      return { kind: 'failed', words: answer.exit.words };
    case 'spoiled':
      return { kind: 'failed', words: `its answer to initialize cannot be used: ${answer.words}` };
    case 'failed': {
      const { kind, words, status } = answer.failure;
      // Nothing there that takes `initialize`: what is known of this server may be wrong (protocol.md §4.2).
      return speaksForOlder(status) ? { kind: 'refused', words } : { kind: 'failed', words, denied: kind === 'denied' };
    }
    case 'answer':
      return judged(wire, answer.line, answer.result, answer.members, answer.error, o);
  }
}

function judged(
  wire: Wire,
  line: Uint8Array,
  result: Member | undefined,
  members: readonly Member[],
  error: Member | undefined,
  o: IntroduceOptions,
): Introduction {
  if (error !== undefined) {
    const { code, message } = readError(line, error);
    return { kind: 'refused', words: `it refused initialize with error ${code}: ${message}` };
  }
  if (result?.kind !== 'object') return { kind: 'refused', words: 'its answer to initialize is not an object' };
  const revision = stringOf(line, findMember(members, 'protocolVersion'));
  if (revision === undefined) return { kind: 'refused', words: 'its answer to initialize has no protocolVersion' };
  if (!isLegacyRevision(revision)) {
    const ours = LEGACY_REVISIONS.join(', ');
    return {
      kind: 'failed',
      words: `it answered initialize with protocol version "${shown(revision)}"; Lockkeeper speaks ${ours}`,
    };
  }
  const capabilities = findMember(members, 'capabilities');
  if (capabilities !== undefined && capabilities.kind !== 'object') {
    return { kind: 'failed', words: 'the capabilities in its answer to initialize are not an object' };
  }
  wire.notify('notifications/initialized', '');
  return { kind: 'ok', profile: profileOf(line, members, revision, o) };
}

function profileOf(line: Uint8Array, members: readonly Member[], revision: string, o: IntroduceOptions): Profile {
  const capabilities = findMember(members, 'capabilities');
  const serverInfo = findMember(members, 'serverInfo');
  const instructions = stringOf(line, findMember(members, 'instructions'));
  return {
    era: 'legacy',
    revision,
    supported: [revision],
    capabilities: capabilities === undefined ? {} : (parseSpan(line, capabilities) as ServerCapabilities),
    ...(serverInfo?.kind === 'object' ? { serverInfo: JSON.parse(textOf(line, serverInfo)) as Implementation } : {}),
    ...(instructions === undefined ? {} : { instructions }),
    foundAt: o.clock.now(),
    evidence: o.evidence,
  };
}

function shown(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
