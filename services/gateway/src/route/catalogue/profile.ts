// What a server declares, read from the answer to the link's `server/discover`, which the node gives for servers of
// both eras; `lk/era` and `lk/revision` are the link's own and go no further.

import { createHash } from 'node:crypto';
import { membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Capability } from '@lockkeeper/protocol/mcp/methods';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import { ttlOf } from './items.ts';

export interface ServerProfile {
  readonly version: string;
  readonly era: Era;
  /** Revision spoken with it. */
  readonly revision: string;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  /** Members that are none of ours, as they came. */
  readonly extra: Uint8Array;
  readonly meta?: string;
  readonly ttlMs: number;
}

const READ: ReadonlySet<string> = new Set([
  'supportedVersions',
  'capabilities',
  'instructions',
  'ttlMs',
  'cacheScope',
  'nextCursor',
]);

export function parseProfile(members: Uint8Array, meta: string | undefined): ServerProfile | null {
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const era = stringOf(whole, findMember(found, 'lk/era'));
  const capabilities = findMember(found, 'capabilities');
  if ((era !== 'legacy' && era !== 'modern') || capabilities?.kind !== 'object') return null;
  const instructions = stringOf(whole, findMember(found, 'instructions'));
  return {
    version: createHash('sha256').update(members).digest('base64url').slice(0, 16),
    era,
    revision: stringOf(whole, findMember(found, 'lk/revision')) ?? '',
    capabilities: parseSpan(whole, capabilities) as ServerCapabilities,
    ...(instructions === undefined ? {} : { instructions }),
    extra: membersWithout(whole, found, (key) => READ.has(key) || key.startsWith('lk/')),
    ...(meta === undefined ? {} : { meta }),
    ttlMs: ttlOf(whole, found),
  };
}

/**
 * Whether a method of this capability is served. Completions came with 2025-03-26: a server of 2024-11-05 cannot
 * declare them and is tried (protocol.md §5.2 "completion").
 */
export function offers(profile: ServerProfile, capability: Capability): boolean {
  if (capability === 'tasks') return false;
  if (profile.capabilities[capability] !== undefined) return true;
  return capability === 'completions' && profile.revision === '2024-11-05';
}
