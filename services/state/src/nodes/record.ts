// A node of the cluster as the store shows it (design §4 "Who owns a pool key"), and where it is kept.

import { keyOf } from '../store.ts';

export interface NodeRecord {
  readonly id: string;
  /** Fresh for each life, and after the node lost leases. */
  readonly incarnation: string;
  /** What gateways dial: `host:port`, `[v6]:port` or `unix:/path`. */
  readonly address: string;
  readonly draining: boolean;
}

export const NODE_TTL_MS = 3_000;
export const NODE_BEAT_MS = 1_000;
/** An entry that is missing for so long is not written again by a node that lives: others may take what it held. */
export const GONE_MS = 2_000;
/**
 * From its last beat a node may serve for so long without another; a second less than it takes until others may serve
 * instead.
 */
export const NODE_SAFE_MS = NODE_TTL_MS + GONE_MS - 1_000;
/**
 * Standing still for no longer than this, a node cannot have lost anything. It is a beat less, since the last one may have
 * been due.
 */
export const STALL_MS = NODE_SAFE_MS - NODE_BEAT_MS;
/** More nodes than this do not register. */
export const MAX_NODES = 512;

/** Node ids that are, or lately were, registered. */
export const NODE_SET = keyOf('', 'nodes');
/** Channel: something about the nodes has changed; a hint. */
export const NODE_HINT = keyOf('', 'nodes', 'changed');

export function nodeKey(id: string): string {
  return keyOf('', 'node', id);
}

export function parseRecord(text: string | null): NodeRecord | null {
  if (text === null) return null;
  try {
    const v = JSON.parse(text) as Partial<NodeRecord> | null;
    if (v === null || typeof v !== 'object') return null;
    const { id, incarnation, address, draining } = v;
    if (typeof id !== 'string' || typeof incarnation !== 'string') return null;
    if (typeof address !== 'string' || typeof draining !== 'boolean') return null;
    return { id, incarnation, address, draining };
  } catch {
    return null;
  }
}
