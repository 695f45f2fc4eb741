// `requestState` as clients see it (design §4 amendment 3, protocol.md §5.5): the node's or the upstream's own state
// and everything it is bound to, sealed. The questions issue calls these two and nothing else. A state that fails
// any comparison is null, without a reason for the caller; a foreign one reads as never issued.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
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
  /** The server's own name or URI of what was called, so that no table is needed to find it again. */
  readonly name: string;
  /** Of the server. */
  readonly era: Era;
  /** The node that holds the exchange, or that answered before. */
  readonly node: string | null;
  /** Null when nothing is held (a modern upstream): then any node will do. */
  readonly incarnation: string | null;
  /** The inner state; null when the upstream sent none, and then none goes upstream (protocol.md §5.1). */
  readonly state: string | null;
}

const KIND = 'state';

export function sealState(ring: SealRing, binding: StateBinding, content: StateContent, ttlMs: number): string | null {
  const { principal, method, params } = binding;
  return ring.seal(KIND, { ...content, who: personOf(principal), method, params }, binding, ttlMs);
}

/**
 * `foreign`: a seal of ours in the hands of another person or program; `other`: its owner sent it with another request.
 * For the operator; the caller is told the same in every case (protocol.md Part 6 #3).
 */
export type StateRefusal = 'unreadable' | 'foreign' | 'other';

export function openState(
  ring: SealRing,
  binding: StateBinding,
  text: string,
  refused?: (why: StateRefusal) => void,
): StateContent | null {
  const sealed = ring.open(KIND, text, binding) as (StateContent & Record<'who' | 'method' | 'params', string>) | null;
  if (sealed === null) return refuse(refused, 'unreadable');
  const { who, method, params, ...content } = sealed;
  if (who !== personOf(binding.principal)) return refuse(refused, 'foreign');
  if (method !== binding.method || params !== binding.params) return refuse(refused, 'other');
  return content;
}

function refuse(refused: ((why: StateRefusal) => void) | undefined, why: StateRefusal): null {
  refused?.(why);
  return null;
}

/** Bound to the person and the program, never to a token's bytes (design §6). */
function personOf(p: Principal): string {
  return JSON.stringify([p.tenant, p.issuer, p.subject, p.client]);
}
