// Which pool a request belongs to. `exclusive` processes are nobody's before their one call, so their spares serve the
// whole tenant.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { LeaseRequest } from './contract.ts';
import type { Mode } from './size.ts';

export interface PoolFacts {
  readonly key: string;
  /** What its siblings share: the owner key, or for `exclusive` the server. */
  readonly family: string;
  readonly spec: ServerSpec;
  readonly capabilities: ClientCapabilities;
  readonly fingerprint: string;
  readonly mode: Mode;
}

export function factsOf(request: LeaseRequest): PoolFacts {
  const { spec, capabilities, fingerprint, owner, key, alone } = request;
  if (spec.isolation !== 'exclusive' || !alone) {
    return { key, family: owner, spec, capabilities, fingerprint, mode: alone ? 'baton' : 'many' };
  }
  const family = JSON.stringify(['exclusive', spec.tenant, spec.name, spec.digest]);
  return { key: poolKey(family, fingerprint), family, spec, capabilities, fingerprint, mode: 'once' };
}

/** The same whoever calls a `shared` server. */
export function sharedOwner({ name: server, digest, tenant }: ServerSpec): string {
  const principal = { tenant, issuer: '', subject: '', client: null };
  return ownerKey({ server, digest, isolation: 'shared', principal, session: null, mayAsk: false });
}

/** The one pool of a `shared` server, which is there before anyone comes. */
export function sharedFacts(spec: ServerSpec, owner = sharedOwner(spec)): PoolFacts {
  return { key: poolKey(owner, ''), family: owner, spec, capabilities: {}, fingerprint: '', mode: 'many' };
}
