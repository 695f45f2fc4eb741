// Tasks as 2025-11-25 has them (protocol.md §1.10), made from ours: names of fields, `failed` where a tool failed, the
// mark on what belongs to a task. Pure.

import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { RELATED_TASK } from '@lockkeeper/protocol/mcp/meta';

const RENAMED: ReadonlyMap<string, string> = new Map([
  ['ttlMs', 'ttl'],
  ['pollIntervalMs', 'pollInterval'],
]);
const PAYLOAD: ReadonlySet<string> = new Set(['result', 'error', 'inputRequests']);

/** Members of a 2025-11-25 Task from those of a DetailedTask. */
export function legacyTask(members: Uint8Array): Uint8Array {
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const failed = toolFailed(whole, found);
  const parts: (Uint8Array | string)[] = [];
  for (const m of found) {
    if (PAYLOAD.has(m.key)) continue;
    if (parts.length > 0) parts.push(',');
    const value = m.key === 'status' && failed ? '"failed"' : whole.subarray(m.start, m.end);
    parts.push(`${JSON.stringify(RENAMED.get(m.key) ?? m.key)}:`, value);
  }
  return concat(parts);
}

/** `isError` inside a completed task is a failure there. */
function toolFailed(whole: Uint8Array, found: readonly Member[]): boolean {
  const result = findMember(found, 'result');
  const isError = result?.kind === 'object' ? findMember(membersOf(whole, result), 'isError') : undefined;
  return isError !== undefined && textOf(whole, isError) === 'true';
}

export function relatedMeta(taskId: string): string {
  return `"${RELATED_TASK}":{"taskId":${JSON.stringify(taskId)}}`;
}

export interface Underlying {
  /** Members of the underlying result, without `_meta`. */
  readonly members: Uint8Array;
  /** Its `_meta` members and the mark. */
  readonly meta: string;
}

/** Exactly what the call would have been answered with (2511/tasks). */
export function underlyingResult(members: Uint8Array, taskId: string): Underlying | null {
  const whole = objectOf([members]);
  const result = findMember(membersOf(whole, { start: 0, end: whole.length }), 'result');
  if (result?.kind !== 'object') return null;
  const inner = membersOf(whole, result);
  const parts: (Uint8Array | string)[] = [];
  for (const m of inner) {
    if (m.key === '_meta') continue;
    if (parts.length > 0) parts.push(',');
    parts.push(whole.subarray(m.keyStart, m.end));
  }
  const own = findMember(inner, '_meta');
  const vendor = own?.kind === 'object' ? textOf(whole, { start: own.start + 1, end: own.end - 1 }).trim() : '';
  return { members: concat(parts), meta: vendor === '' ? relatedMeta(taskId) : `${relatedMeta(taskId)},${vendor}` };
}

export interface UnderlyingError {
  readonly code: number;
  readonly message: string;
  readonly data?: string;
}

export function underlyingError(members: Uint8Array): UnderlyingError {
  const whole = objectOf([members]);
  const error = findMember(membersOf(whole, { start: 0, end: whole.length }), 'error');
  const inner = error?.kind === 'object' ? membersOf(whole, error) : [];
  const code = findMember(inner, 'code');
  const data = findMember(inner, 'data');
  return {
    code: code?.kind === 'number' ? Number(textOf(whole, code)) : -32603,
    message: stringOf(whole, findMember(inner, 'message')) ?? 'The task failed.',
    ...(data === undefined ? {} : { data: textOf(whole, data) }),
  };
}

/** The questions of a task, and the state that names this very set of them. */
export function openQuestions(members: Uint8Array): { readonly text: Uint8Array; readonly state: string } | null {
  const whole = objectOf([members]);
  const requests = findMember(membersOf(whole, { start: 0, end: whole.length }), 'inputRequests');
  if (requests?.kind !== 'object') return null;
  const keys = membersOf(whole, requests).map(({ key }) => key);
  return { text: whole.subarray(requests.start, requests.end), state: keys.sort().join(' ') };
}
