// One handle of one caller: found, or unknown in the same words whatever the reason (protocol.md Part 6 #21, GB-148),
// and its state now, from the store once it has ended, from its node while it goes on.

import { serverId } from '@lockkeeper/protocol/config/settings';
import { samePrincipal, type TaskStore } from '@lockkeeper/state/tasks/task-store';
import type { Answer, Exchange } from '../exchange.ts';
import type { CallFault, Step, Upstream } from '../route/contract.ts';
import { refused } from '../route/refuse.ts';
import { faulted, type Room, reach } from '../route/room.ts';
import type { Sight } from '../route/sight.ts';
import { type KnownTask, tellNode } from './at-node.ts';
import { type Shown, shownTask } from './shown.ts';

export interface FoundTask extends KnownTask {
  readonly kind: 'task';
  readonly up: Upstream;
  /** DetailedTask members of its end; null while it goes on. */
  readonly end: string | null;
}

export async function findTask(room: Room, sight: Sight, id: string): Promise<FoundTask | Answer> {
  const { exchange } = sight;
  const { tenant, path } = exchange.route;
  const stored = await storeOf(room).read(tenant, id);
  if (stored === null) return unknownTask();
  const { record, end } = stored;
  if (!samePrincipal(record.principal, exchange.caller.principal)) return unknownTask('a task of another caller');
  if (record.route !== path) return unknownTask('a task of another route');
  const spec = exchange.snapshot.servers.get(serverId(tenant, record.server));
  const seen = sight.servers.some((s) => s.name === record.server);
  if (spec === undefined || !seen || !sight.may(record.server, 'tool', record.tool)) return unknownTask();
  // A task lives on under the configuration it was made with (design §5 "Reload").
  return { kind: 'task', id, record, end, up: reach(room, exchange, spec) };
}

export type TaskNow = Extract<Shown, { kind: 'shown' }> | Step;

export async function taskNow(room: Room, exchange: Exchange, task: FoundTask): Promise<TaskNow> {
  if (task.end !== null) return shown(exchange, task, Buffer.from(task.end));
  const answer = await tellNode(room, exchange, task.up, task, 'tasks/get', new Uint8Array(0));
  if (answer.kind === 'result') return shown(exchange, task, answer.body);
  if (!isGone(answer.fault)) return faulted(answer.fault, task.up.spec, task.record.era);
  return shown(exchange, task, Buffer.from(await lastWord(room, exchange, task)));
}

/** The node does not have it any more: it has ended, or was lost with its node. */
export function isGone({ reason }: CallFault): boolean {
  return reason === 'lost' || reason === 'unknown-exchange';
}

/** The first end counts; a node that wrote one before it went has said more than we can. */
async function lastWord(room: Room, exchange: Exchange, task: FoundTask): Promise<string> {
  const { tenant } = exchange.route;
  const store = storeOf(room);
  const before = await store.read(tenant, task.id);
  if (before?.end != null) return before.end;
  const { record, id } = task;
  const words = `Server "${record.server}" was lost while it worked on this; it may have run in part. Check what it did before calling again.`;
  const now = new Date(room.deps.clock.now()).toISOString();
  const times = `"createdAt":${JSON.stringify(record.createdAt)},"lastUpdatedAt":"${now}","ttlMs":${record.ttlMs}`;
  const error = `"error":${JSON.stringify({ code: LOST, message: words })}`;
  const members = `"taskId":${JSON.stringify(id)},"status":"failed","statusMessage":${JSON.stringify(words)},${times},${error}`;
  await store.end(tenant, id, members, record.endsAt - room.deps.clock.now());
  return (await store.read(tenant, id))?.end ?? members;
}

/** `lost` of errors.ts. */
const LOST = 10005;

function shown(exchange: Exchange, { up, record }: FoundTask, members: Uint8Array): TaskNow {
  const task = shownTask(exchange, up, record, members);
  if (task.kind === 'shown') return task;
  return faulted({ reason: 'protocol', code: -32603, message: task.why, mayHaveRun: true }, up.spec, record.era);
}

export function storeOf(room: Room): TaskStore {
  const { tasks } = room.deps;
  if (tasks === undefined) throw new Error('no tasks are served here');
  return tasks;
}

export function unknownTask(detail?: string): Answer {
  const answer = refused('unknown-task');
  return detail === undefined ? answer : { ...answer, detail };
}
