// What the store knows of parked exchanges (design §4 amendment 1, protocol.md §5.6 `xchg:{xid}`): where one is, since
// its first question, and how it ended. A help for those who look for it, never what decides: the node's memory does.
// Answers are never here. Every key has a TTL.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import { keyOf, type Store } from '@lockkeeper/state/store';
import { type Bound, sameCaller } from '../dispatch-table.ts';
import type { Ended } from './contract.ts';

export interface DirectoryRecord extends Bound {
  readonly principal: Principal;
  /** Hash of a legacy session. */
  readonly session: string | null;
  readonly server: string;
  readonly node: string;
  readonly incarnation: string;
  /** Unix ms. */
  readonly deadline: number;
  /** `lost`: its node is no more. */
  readonly state: 'parked' | 'lost';
}

export interface Directory {
  put(xid: string, record: DirectoryRecord, ttlMs: number): Promise<void>;
  get(tenant: string, xid: string): Promise<DirectoryRecord | null>;
  lost(tenant: string, xid: string, ttlMs: number): Promise<void>;
  ended(xid: string, bound: Bound, ended: Ended | null, ttlMs: number): Promise<void>;
  outcome(xid: string, bound: Bound): Promise<Ended | 'foreign' | null>;
}

export function exchangeKey(tenant: string, xid: string): string {
  return keyOf(tenant, 'xchg', xid);
}

export function outcomeKey(tenant: string, xid: string): string {
  return keyOf(tenant, 'xchg', xid, 'result');
}

interface StoredEnd extends Bound {
  readonly ended: { readonly kind: 'result'; readonly head: object; readonly members: string } | object;
}

export function createDirectory(store: Store, maxBytes: number): Directory {
  return {
    put: (xid, record, ttlMs) => store.set(exchangeKey(record.principal.tenant, xid), JSON.stringify(record), ttlMs),
    async get(tenant, xid) {
      const text = await store.get(exchangeKey(tenant, xid));
      return text === null ? null : (JSON.parse(text) as DirectoryRecord);
    },
    async lost(tenant, xid, ttlMs) {
      const key = exchangeKey(tenant, xid);
      const text = await store.get(key);
      if (text === null) return;
      const record = JSON.parse(text) as DirectoryRecord;
      await store.compareAndSet(key, text, JSON.stringify({ ...record, state: 'lost' }), ttlMs);
    },
    async ended(xid, bound, ended, ttlMs) {
      const { tenant } = bound.principal;
      await store.delete(exchangeKey(tenant, xid));
      if (ended === null || (ended.kind === 'result' && ended.members.length > maxBytes)) return;
      const { principal, session } = bound;
      const { said: _said, ...own } = ended;
      const shown = own.kind === 'result' ? { ...own, members: Buffer.from(own.members).toString() } : own;
      await store.set(outcomeKey(tenant, xid), JSON.stringify({ principal, session, ended: shown }), ttlMs);
    },
    async outcome(xid, bound) {
      const text = await store.get(outcomeKey(bound.principal.tenant, xid));
      if (text === null) return null;
      const stored = JSON.parse(text) as StoredEnd;
      if (!sameCaller(stored, bound)) return 'foreign';
      const ended = stored.ended as { kind: string; members: string };
      const read: unknown = ended.kind === 'result' ? { ...ended, members: Buffer.from(ended.members) } : ended;
      return read as Ended;
    },
  };
}
