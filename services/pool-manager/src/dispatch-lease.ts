// What an exchange asks of the pools: whose process, told what of its client, alone or with others (design §5).

import { mayAsk, nodesOf, type ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { ownerKey, poolKey, shareKey } from '@lockkeeper/protocol/link/keys';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { LeaseRequest } from './pool/contract.ts';
import { carried, letsAsk } from './raise/carry.ts';
import type { Connection } from './raise/contract.ts';

/** The gateway makes the same from the same, to choose the node; of what is spread over several, this node's share. */
export function ownerOf(spec: ServerSpec, head: Pick<Open, 'principal' | 'session'>, node: string): string {
  const { name: server, digest, isolation } = spec;
  const { principal, session } = head;
  const owner = ownerKey({ server, digest, isolation, principal, session, mayAsk: mayAsk(spec) });
  return nodesOf(spec) > 1 ? shareKey(owner, node) : owner;
}

export interface Asking {
  readonly spec: ServerSpec;
  readonly head: Open;
  /** Made when it is read: most leases are granted at once. */
  readonly signal: AbortSignal;
}

export interface AskingHow {
  readonly owner: string;
  readonly waitMs: number;
  /** Upstreams may ask, so what they are told of their client matters. */
  readonly asks: boolean;
  /** The process that asked before. */
  readonly back: Connection | undefined;
}

export function leaseRequest(asking: Asking, profile: Profile, how: AskingHow): LeaseRequest {
  const { spec, head } = asking;
  const { owner, waitMs } = how;
  // A modern process is told with every request; only a legacy one's capabilities freeze (design §5 "Fingerprint").
  const legacy = profile.era === 'legacy';
  const capabilities = legacy ? carried(head.capabilities, spec, profile.revision, how.asks) : {};
  const fingerprint = fingerprintOf(capabilities);
  return new Wanted(asking, {
    spec,
    owner,
    key: poolKey(owner, fingerprint),
    principal: head.principal,
    capabilities,
    fingerprint,
    // A modern server by URL keeps nothing between requests, so there is nothing to be alone with.
    alone: (spec.isolation === 'exclusive' && (legacy || spec.http === undefined)) || letsAsk(capabilities),
    waitMs,
    ...(how.back === undefined ? {} : { back: how.back }),
  });
}

/** Reads the signal of whoever asks when it is read. A getter in a literal would make a shape of its own each time. */
class Wanted implements LeaseRequest {
  declare readonly spec: LeaseRequest['spec'];
  declare readonly owner: string;
  declare readonly key: string;
  declare readonly principal: LeaseRequest['principal'];
  declare readonly capabilities: LeaseRequest['capabilities'];
  declare readonly fingerprint: string;
  declare readonly alone: boolean;
  declare readonly waitMs: number;
  declare readonly back?: NonNullable<LeaseRequest['back']>;
  private readonly asking: Asking;

  constructor(asking: Asking, fields: Omit<LeaseRequest, 'signal'>) {
    Object.assign(this, fields);
    this.asking = asking;
  }

  get signal(): AbortSignal {
    return this.asking.signal;
  }
}
