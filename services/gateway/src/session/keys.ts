// Store keys of a session (protocol.md §5.6), in one place so that its end can remove them all.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import { keyOf } from '@lockkeeper/state/store';

export function recordKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id);
}

/** Sessions of one principal, for the cap. */
export function ownedKey(principal: Principal): string {
  return keyOf(principal.tenant, 'sess-of', principal.issuer, principal.subject, principal.client ?? '');
}

/** Members `[clientId, xid]` of calls in flight (design ruling 6: a set, since ids repeat, GB-078). */
export function inFlightKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'inflight');
}

/** Tombstone of a cancel that found nothing yet. */
export function tombstoneKey(tenant: string, id: string, clientId: string): string {
  return keyOf(tenant, 'sess', id, 'cancelled', clientId);
}

export function subscriptionsKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'subs');
}

/** HTTP+SSE: the messages that the holder of the socket copies out. */
export function outKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'out');
}

/** HTTP+SSE: the replica that holds the socket. */
export function holderKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'holder');
}

export function allKeys(tenant: string, id: string): string[] {
  return [
    recordKey(tenant, id),
    inFlightKey(tenant, id),
    subscriptionsKey(tenant, id),
    outKey(tenant, id),
    holderKey(tenant, id),
  ];
}

/** Hints between replicas; may be lost, nothing rests on them alone. */
export const HINT_CHANNEL = keyOf('', 'session-hints');
