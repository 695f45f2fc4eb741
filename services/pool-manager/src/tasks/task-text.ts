// Task objects as text (protocol.md §1.10, ext-tasks): composed from what the node knows, or a modern server's own with
// the few members changed that may not pass. Pure; bytes that are not ours stay as they are.

import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { vendorMeta } from '../raise/result/split.ts';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

export interface TaskFacts {
  readonly id: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

export function taskMembers(t: TaskFacts): string {
  const words = t.statusMessage === undefined ? '' : `"statusMessage":${JSON.stringify(t.statusMessage)},`;
  const times = `"createdAt":"${iso(t.createdAt)}","lastUpdatedAt":"${iso(t.updatedAt)}"`;
  return `"taskId":${JSON.stringify(t.id)},"status":"${t.status}",${words}${times},"ttlMs":${t.ttlMs},"pollIntervalMs":${t.pollIntervalMs}`;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** A result inside a task: its members, and vendor `_meta` only. */
export function inlinedResult(members: Uint8Array, meta: string | undefined): Uint8Array {
  const whole = objectOf([meta === undefined ? undefined : `"_meta":{${meta}}`, members]);
  return concat(['"result":', whole]);
}

/** What a modern server says of its own task. */
export interface UpstreamTaskText {
  readonly upstreamId: string;
  readonly status: TaskStatus;
  readonly pollIntervalMs: number | null;
  readonly createdAt: string;
  /** Members under our id, with our ttl, without what has no place in a task object. */
  readonly members: Uint8Array;
}

const STATUSES: ReadonlySet<string> = new Set(['working', 'input_required', 'completed', 'failed', 'cancelled']);
export const TERMINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);
/** Members that belong to the status, and nothing else does (ext-tasks DetailedTask). */
const PAYLOAD: ReadonlyMap<string, TaskStatus> = new Map([
  ['result', 'completed'],
  ['error', 'failed'],
  ['inputRequests', 'input_required'],
]);
const NEVER: ReadonlySet<string> = new Set(['requestState', 'taskId', 'ttlMs', 'ttl', 'pollInterval', '_meta']);

/** `detailed`: of tasks/get; else of a task's creation, which carries no payload. A string says what is wrong. */
export function readUpstreamTask(
  bytes: Uint8Array,
  id: string,
  maxTtlMs: number,
  detailed: boolean,
): UpstreamTaskText | string {
  const whole = objectOf([bytes]);
  const members = membersOf(whole, { start: 0, end: whole.length });
  const upstreamId = stringOf(whole, findMember(members, 'taskId'));
  const status = stringOf(whole, findMember(members, 'status'));
  if (upstreamId === undefined) return 'a task without taskId';
  if (status === undefined || !STATUSES.has(status)) return 'a task whose status is none';
  const why = detailed ? payloadFault(members, status) : null;
  if (why !== null) return why;
  const own = (key: string) => PAYLOAD.get(key) === undefined || (detailed && PAYLOAD.get(key) === status);
  const kept = members.filter((m) => !NEVER.has(m.key) && own(m.key));
  const parts: (Uint8Array | string)[] = [`"taskId":${JSON.stringify(id)}`];
  for (const m of kept)
    parts.push(',', m.key === 'result' ? withoutReserved(whole, m) : whole.subarray(m.keyStart, m.end));
  parts.push(`,"ttlMs":${lesser(whole, findMember(members, 'ttlMs'), maxTtlMs)}`);
  return {
    upstreamId,
    status: status as TaskStatus,
    pollIntervalMs: positive(whole, findMember(members, 'pollIntervalMs')),
    createdAt: stringOf(whole, findMember(members, 'createdAt')) ?? '',
    members: concat(parts),
  };
}

function payloadFault(members: readonly Member[], status: string): string | null {
  for (const [key, of] of PAYLOAD) {
    if (of === status && findMember(members, key)?.kind !== 'object') return `a ${status} task without ${key}`;
  }
  return null;
}

/** An inlined result is shown like any: reserved `_meta` keys end here (protocol.md §5.0 I8, §1.10 RT). */
function withoutReserved(whole: Uint8Array, result: Member): Uint8Array {
  const inner = membersOf(whole, result);
  if (findMember(inner, '_meta') === undefined) return whole.subarray(result.keyStart, result.end);
  const parts = inner.filter((m) => m.key !== '_meta').map((m) => whole.subarray(m.keyStart, m.end));
  const meta = vendorMeta(whole, inner);
  return concat(['"result":', objectOf([meta === undefined ? undefined : `"_meta":{${meta}}`, ...parts])]);
}

/** protocol.md Part 7 #38: null is unlimited. */
function lesser(bytes: Uint8Array, member: Member | undefined, max: number): number {
  return Math.min(positive(bytes, member) ?? max, max);
}

function positive(bytes: Uint8Array, member: Member | undefined): number | null {
  const value = member?.kind === 'number' ? Number(textOf(bytes, member)) : 0;
  return Number.isSafeInteger(value) && value > 0 ? value : null;
}
