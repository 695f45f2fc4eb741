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

export const NODE_TTL_MS = 8_000;
export const NODE_BEAT_MS = 2_000;
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
