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

/** Changes that no stream was there to take, one member a kind or URI (protocol.md §5.8 #25). */
export function pendingKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'pending');
}

/** The replica that listens for the session. */
export function watchKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'watch');
}

/** HTTP+SSE: the messages that the holder of the socket copies out. */
export function outKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'out');
}

/** HTTP+SSE: the replica that holds the socket. */
export function holderKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'holder');
}

/** One SSE stream of a Streamable HTTP session: what it is, what it said, who holds its socket. */
export function streamKey(tenant: string, id: string, stream: string): string {
  return keyOf(tenant, 'sess', id, 'stream', stream);
}

export function streamLogKey(tenant: string, id: string, stream: string): string {
  return keyOf(tenant, 'sess', id, 'out', stream);
}

export function streamHolderKey(tenant: string, id: string, stream: string): string {
  return keyOf(tenant, 'sess', id, 'owner', stream);
}

/** A call as whoever lowers it must know it. */
export function callKey(tenant: string, id: string, xid: string): string {
  return keyOf(tenant, 'sess', id, 'call', xid);
}

/** A wire request of ours that waits for its answer. */
export function wireKey(tenant: string, id: string, wireId: string): string {
  return keyOf(tenant, 'sess', id, 'req', wireId);
}

/** That the user agreed to open this URL in this exchange; never what was answered. */
export function openedKey(tenant: string, id: string, mark: string): string {
  return keyOf(tenant, 'sess', id, 'opened', mark);
}

/** Members are keys of this session that have names of their own, so that its end removes them, too. */
export function indexKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'keys');
}

/** Those of them that are over, and live for a moment yet. */
export function fadingKey(tenant: string, id: string): string {
  return keyOf(tenant, 'sess', id, 'fading');
}

/** Lives as long as the replica beats. */
export function replicaKey(replica: string): string {
  return keyOf('', 'replica', replica);
}

export function allKeys(tenant: string, id: string): string[] {
  return [
    recordKey(tenant, id),
    inFlightKey(tenant, id),
    subscriptionsKey(tenant, id),
    pendingKey(tenant, id),
    watchKey(tenant, id),
    outKey(tenant, id),
    holderKey(tenant, id),
    indexKey(tenant, id),
    fadingKey(tenant, id),
  ];
}

/** Hints between replicas; may be lost, nothing rests on them alone. */
export const HINT_CHANNEL = keyOf('', 'session-hints');
