// The lease of one owner key in the store: who holds it, taken and renewed by equality of the whole value.

import { createHash } from 'node:crypto';
import { keyOf, type Store } from '../store.ts';

export interface Holder {
  readonly node: string;
  readonly incarnation: string;
}

export interface Lease {
  readonly tenant: string;
  readonly owner: string;
  readonly key: string;
  value: string;
  /** Until then nobody else can have it, whatever the store does. */
  safeUntil: number;
  /** When it was last seen to be ours. */
  seenAt: number;
  usedAt: number;
}

export const LEASE_MS = 15_000;

export function leaseKey(tenant: string, owner: string): string {
  return keyOf(tenant, 'lease', createHash('sha256').update(owner).digest('base64url'));
}

export function leaseValue(holder: Holder, token: string): string {
  return JSON.stringify([holder.node, holder.incarnation, token]);
}

export function parseHolder(value: string | null): Holder | null {
  if (value === null) return null;
  try {
    const v = JSON.parse(value) as unknown;
    if (!Array.isArray(v) || typeof v[0] !== 'string' || typeof v[1] !== 'string') return null;
    return { node: v[0], incarnation: v[1] };
  } catch {
    return null;
  }
}

/**
 * Renews, or takes the key again when it is gone from the store and nobody has it (a store that lost its data is not
 * another holder). False: somebody else holds it.
 */
export async function renewLease(store: Store, lease: Lease, leaseMs: number): Promise<boolean> {
  if (await store.compareAndTouch(lease.key, lease.value, leaseMs)) return true;
  if (await store.setIfAbsent(lease.key, lease.value, leaseMs)) return true;
  return (await store.get(lease.key)) === lease.value;
}
