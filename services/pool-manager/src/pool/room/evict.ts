// Who makes room when a cap is hit: the idle child that was used longest ago, of the same server or tenant; only when the
// node itself is full and the tenant has none, one of the tenant that holds most. Pure.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { FullCap } from './caps.ts';

export interface Candidate {
  readonly spec: ServerSpec;
  readonly idleSince: number;
}

export function whoMakesRoom<T extends Candidate>(
  idle: readonly T[],
  forSpec: ServerSpec,
  cap: FullCap,
  ofTenant: (tenant: string) => number,
): T | undefined {
  const own = idle.filter(({ spec }) => spec.tenant === forSpec.tenant);
  switch (cap) {
    case 'server-full':
      return longestUnused(own.filter(({ spec }) => spec.name === forSpec.name));
    case 'tenant-full':
      return longestUnused(own);
    case 'node-full': {
      if (own.length > 0) return longestUnused(own);
      // Idle processes of others must not keep a tenant out for ever.
      const most = Math.max(...idle.map(({ spec }) => ofTenant(spec.tenant)));
      return longestUnused(idle.filter(({ spec }) => ofTenant(spec.tenant) === most));
    }
  }
}

/** A session's process holds its state, so it goes last. */
function longestUnused<T extends Candidate>(candidates: readonly T[]): T | undefined {
  const stateless = candidates.filter(({ spec }) => spec.isolation !== 'session');
  const from = stateless.length > 0 ? stateless : candidates;
  return from.reduce<T | undefined>((a, b) => (a === undefined || b.idleSince < a.idleSince ? b : a), undefined);
}
