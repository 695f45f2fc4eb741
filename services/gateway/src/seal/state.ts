// `requestState` as clients see it (design §4 amendment 3, protocol.md §5.5): the node's or the upstream's own state
// and everything it is bound to, sealed. The questions issue calls these two and nothing else. A state that fails
// any comparison is null, without a reason for the caller; a foreign one reads as never issued.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { SealContext, SealRing } from './ring.ts';

/** What the caller's request must be for the state to count. */
export interface StateBinding extends SealContext {
  readonly principal: Principal;
  readonly method: string;
  /** `paramsDigest` of seal/digest.ts. */
  readonly params: string;
}

export interface StateContent {
  readonly xid: string;
  /** Server name and spec digest: a retry resolves by its seal, never by today's key (design §5 "Reload"). */
  readonly server: string;
  readonly digest: string;
  /** The node that holds the exchange; null when nothing is held (a modern upstream). */
  readonly node: string | null;
  readonly incarnation: string | null;
  /** The inner state; null when the upstream sent none, and then none goes upstream (protocol.md §5.1). */
  readonly state: string | null;
}

const KIND = 'state';

export function sealState(ring: SealRing, binding: StateBinding, content: StateContent, ttlMs: number): string | null {
  const { principal, method, params } = binding;
  return ring.seal(KIND, { ...content, who: personOf(principal), method, params }, binding, ttlMs);
}

export function openState(ring: SealRing, binding: StateBinding, text: string): StateContent | null {
  const sealed = ring.open(KIND, text, binding) as (StateContent & Record<'who' | 'method' | 'params', string>) | null;
  if (sealed === null) return null;
  const { who, method, params, ...content } = sealed;
  const fits = who === personOf(binding.principal) && method === binding.method && params === binding.params;
  return fits ? content : null;
}

/** Bound to the person and the program, never to a token's bytes (design §6). */
function personOf(p: Principal): string {
  return JSON.stringify([p.tenant, p.issuer, p.subject, p.client]);
}
