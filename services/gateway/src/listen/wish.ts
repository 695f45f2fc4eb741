// `params.notifications` of a modern listen, read and checked (protocol.md §2.9, 26/subs SubscriptionFilter). Pure.

import { findMember, parseSpan } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { TASKS_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import type { Refusal } from '../errors.ts';
import type { Located } from '../http/contract.ts';
import { type ChangedList, LIST_KINDS, type Wanted } from './contract.ts';

export type Wish =
  | { readonly kind: 'wish'; readonly wanted: Wanted; readonly taskIds: readonly string[] }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

const MAX_IDS = 1_000;
const MAX_ID_LENGTH = 8 * 1024;

export function readWish({ bytes, params }: Located, capabilities: ClientCapabilities): Wish {
  const member = findMember(params, 'notifications');
  if (member?.kind !== 'object') return invalid('params.notifications must be an object.');
  const value = parseSpan(bytes, member) as Record<string, unknown>;
  const lists = new Set<ChangedList>();
  for (const kind of LIST_KINDS) {
    const flag = value[`${kind}ListChanged`] ?? false;
    if (typeof flag !== 'boolean') return invalid(`params.notifications.${kind}ListChanged must be a boolean.`);
    if (flag) lists.add(kind);
  }
  const uris = idsOf(value.resourceSubscriptions);
  if (uris === null) return invalid(`params.notifications.resourceSubscriptions ${IDS}`);
  const taskIds = idsOf(value.taskIds);
  if (taskIds === null) return invalid(`params.notifications.taskIds ${IDS}`);
  if (value.taskIds !== undefined && capabilities.extensions?.[TASKS_EXTENSION] === undefined) return NO_TASKS;
  return { kind: 'wish', wanted: { lists, uris: new Set(uris) }, taskIds: [...new Set(taskIds)] };
}

const IDS = `must be an array of at most ${MAX_IDS} strings.`;

const NO_TASKS: Wish = {
  kind: 'refusal',
  refusal: {
    reason: 'capability',
    message: 'params.notifications.taskIds needs the tasks extension.',
    data: JSON.stringify({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }),
  },
};

function idsOf(value: unknown): readonly string[] | null {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_IDS) return null;
  return value.every((one) => typeof one === 'string' && one.length <= MAX_ID_LENGTH) ? value : null;
}

function invalid(message: string): Wish {
  return { kind: 'refusal', refusal: { reason: 'invalid-params', message } };
}
