// A message on its way out, read again by its top level: over HTTP its headers, its connection and its fate depend on
// what it is.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, parseSpan, scan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { Line } from '../child/contract.ts';

export interface Outgoing {
  readonly kind: 'request' | 'notification' | 'response';
  readonly bytes: Uint8Array;
  /** Of a request of ours; else 0. */
  readonly id: number;
  readonly method: string;
  readonly params: readonly Member[];
}

export function outgoing(message: Line): Outgoing {
  const bytes = message instanceof Uint8Array ? message : concat(message);
  const { members } = scan(bytes);
  const method = stringOf(bytes, findMember(members, 'method'));
  const id = findMember(members, 'id');
  if (method === undefined) return { kind: 'response', bytes, id: 0, method: '', params: [] };
  const params = findMember(members, 'params');
  const inner = params?.kind === 'object' ? membersOf(bytes, params) : [];
  if (id === undefined) return { kind: 'notification', bytes, id: 0, method, params: inner };
  return { kind: 'request', bytes, id: Number(textOf(bytes, id)), method, params: inner };
}

/** The request that a `notifications/cancelled` of ours names; null: another notification. */
export function cancelledId({ kind, method, bytes, params }: Outgoing): number | null {
  if (kind !== 'notification' || method !== 'notifications/cancelled') return null;
  const id = findMember(params, 'requestId');
  const value = id === undefined ? undefined : parseSpan(bytes, id);
  return typeof value === 'number' ? value : null;
}
