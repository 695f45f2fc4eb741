// Task records (protocol.md §5.6 `task:{id}`): what a gateway wrote before it gave the handle out, and how the task
// ended, written by whoever saw its end. Two keys, so that gateway and node never write over each other. A change is
// told by a hint; who hears it reads again.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import { keyOf, type Store } from '../store.ts';

/** What a handle stands for. Compared on every use (protocol.md §5.0 I5). */
export interface TaskRecord {
  readonly principal: Principal;
  /** Path of the route it was made on. */
  readonly route: string;
  readonly server: string;
  readonly digest: string;
  /** Of the server. */
  readonly era: Era;
  /** The tool's own name: policy is asked again each time. */
  readonly tool: string;
  /** What its server may ask of the caller, as it was declared when the task was made. */
  readonly capabilities: ClientCapabilities;
  readonly node: string;
  readonly incarnation: string;
  /** The server's own id of it; absent where the node keeps the task itself. */
  readonly upstreamTask?: string;
  readonly createdAt: string;
  /** Unix ms: after it the task may be forgotten. */
  readonly endsAt: number;
  readonly ttlMs: number;
}

export interface StoredTask {
  readonly record: TaskRecord;
  /** Members of the ended task's DetailedTask as the node composed them; null while it goes on. */
  readonly end: string | null;
}

export interface TaskStore {
  /** True also when this very handle was written before: earlier seals of one exchange lead to one task. */
  create(tenant: string, id: string, record: TaskRecord): Promise<boolean>;
  read(tenant: string, id: string): Promise<StoredTask | null>;
  /** The first end counts, whoever writes it. */
  end(tenant: string, id: string, members: string, ttlMs: number): Promise<boolean>;
  changed(tenant: string, id: string): Promise<void>;
  onChange(tenant: string, id: string, listener: () => void): Promise<() => Promise<void>>;
  /** For a legacy caller's tasks/list: handles of one person and client, newest last. */
  listed(principal: Principal): Promise<string[]>;
  enlist(principal: Principal, id: string, ttlMs: number): Promise<void>;
}

/** A task stays readable for all of its ttl, and a little longer for who asks at its very end. */
const GRACE_MS = 60_000;
const MAX_LISTED = 1000;

export function createTaskStore(store: Store, now: () => number): TaskStore {
  const recordKey = (tenant: string, id: string) => keyOf(tenant, 'task', id);
  const endKey = (tenant: string, id: string) => keyOf(tenant, 'task', id, 'end');
  const channel = (tenant: string, id: string) => keyOf(tenant, 'task', id, 'changed');
  const listKey = (p: Principal) => keyOf(p.tenant, 'tasks-of', p.issuer, p.subject, p.client ?? '');
  return {
    async create(tenant, id, record) {
      const ttlMs = Math.max(1, record.endsAt - now()) + GRACE_MS;
      if (await store.setIfAbsent(recordKey(tenant, id), JSON.stringify(record), ttlMs)) return true;
      const known = await store.get(recordKey(tenant, id));
      return known !== null && samePrincipal((JSON.parse(known) as TaskRecord).principal, record.principal);
    },
    async read(tenant, id) {
      const [record, end] = await store.getMany([recordKey(tenant, id), endKey(tenant, id)]);
      if (record === null || record === undefined) return null;
      return { record: JSON.parse(record) as TaskRecord, end: end ?? null };
    },
    async end(tenant, id, members, ttlMs) {
      const first = await store.setIfAbsent(endKey(tenant, id), members, Math.max(1, ttlMs) + GRACE_MS);
      if (first) await store.publish(channel(tenant, id), 'ended');
      return first;
    },
    changed: (tenant, id) => store.publish(channel(tenant, id), 'changed'),
    onChange: (tenant, id, listener) => store.subscribe(channel(tenant, id), listener),
    listed: (principal) => store.membersOf(listKey(principal)),
    async enlist(principal, id, ttlMs) {
      await store.addToSet(listKey(principal), id, MAX_LISTED, ttlMs + GRACE_MS);
    },
  };
}

/** The person and the program (design §6); a session is no part of it. */
export function samePrincipal(a: Principal, b: Principal): boolean {
  return a.tenant === b.tenant && a.issuer === b.issuer && a.subject === b.subject && a.client === b.client;
}
