// The caching fields that a modern client cannot do without (protocol.md §1.5, §2.10, GB-055): taken from the upstream
// where they are valid, made where they are not.

import { findMember, type Member, stringOf, textOf } from '@lockkeeper/protocol/json/scan';

export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** Each field by itself; an invalid one counts as absent (missing → private, 0; protocol.md Part 7 #26). */
export function cachingOf(line: Uint8Array, members: readonly Member[], otherwise: Caching): Caching {
  const ttl = findMember(members, 'ttlMs');
  const ttlMs = ttl?.kind === 'number' ? Number(textOf(line, ttl)) : Number.NaN;
  const scope = stringOf(line, findMember(members, 'cacheScope'));
  return {
    ttlMs: Number.isSafeInteger(ttlMs) && ttlMs >= 0 ? ttlMs : otherwise.ttlMs,
    cacheScope: scope === 'public' || scope === 'private' ? scope : otherwise.cacheScope,
  };
}

/** Over the pages of one list: the shortest life, the narrowest scope. */
export function narrowest(a: Caching, b: Caching): Caching {
  return {
    ttlMs: Math.min(a.ttlMs, b.ttlMs),
    cacheScope: a.cacheScope === 'private' || b.cacheScope === 'private' ? 'private' : 'public',
  };
}

export function cachingMembers(c: Caching): string {
  return `"ttlMs":${c.ttlMs},"cacheScope":"${c.cacheScope}"`;
}

export function isCaching(key: string): boolean {
  return key === 'ttlMs' || key === 'cacheScope';
}
