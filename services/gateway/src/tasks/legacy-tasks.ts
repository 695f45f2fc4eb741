// The 2025-11-25 bridge (protocol.md §5.3 "tasks, session 2511, bridge on"): tasks/get, tasks/list, tasks/cancel and the
// blocking tasks/result over the same records. A question inside a task is asked on the way of its tasks/result, by the
// same means as any other call's.

import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, stringOf } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { Answer, AnswerListener, Ask, Exchange } from '../exchange.ts';
import type { Signal } from '../leaving.ts';
import type { Step } from '../route/contract.ts';
import { refused } from '../route/refuse.ts';
import { faulted, type Room } from '../route/room.ts';
import type { Sight } from '../route/sight.ts';
import { tellNode } from './at-node.ts';
import { legacyTask, openQuestions, underlyingError, underlyingResult } from './legacy-text.ts';
import { type FoundTask, findTask, isGone, storeOf, taskNow } from './task.ts';

const NO_BODY = new Uint8Array(0);
const MAX_LISTED = 100;
const LOOK_MS = 15_000;
const TERMINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export function servesLegacyTasks(room: Room, exchange: Exchange): boolean {
  const { era, route, revision } = exchange;
  return room.deps.tasks !== undefined && era === 'legacy' && route.legacyTasks && atLeast(revision, '2025-11-25');
}

export async function answerLegacyTask(room: Room, sight: Sight, ask: Ask, listener: AnswerListener): Promise<Step> {
  if (!room.deps.store.reachable()) return refused('unreadable');
  if (ask.method === 'tasks/list') return listTasks(room, sight);
  if (ask.name === undefined) return refused('invalid-params', { message: 'params.taskId must be a string.' });
  const task = await findTask(room, sight, ask.name);
  if (task.kind !== 'task') return task;
  switch (ask.method) {
    case 'tasks/get':
      return getTask(room, sight.exchange, task);
    case 'tasks/cancel':
      return cancelTask(room, sight.exchange, task);
    default:
      return resultOf(room, sight, task, ask, listener);
  }
}

async function getTask(room: Room, exchange: Exchange, task: FoundTask): Promise<Step> {
  const now = await taskNow(room, exchange, task);
  return now.kind === 'shown' ? complete(legacyTask(now.members)) : now;
}

/** Of this person and program, on this route, as far as the policy shows them. */
async function listTasks(room: Room, sight: Sight): Promise<Step> {
  const { exchange } = sight;
  const ids = await storeOf(room).listed(exchange.caller.principal);
  const found = await Promise.all(ids.slice(-MAX_LISTED).map((id) => findTask(room, sight, id)));
  const tasks = found.filter((task) => task.kind === 'task');
  tasks.sort((a, b) => (a.record.createdAt < b.record.createdAt ? -1 : 1));
  const states = await Promise.all(tasks.map((task) => taskNow(room, exchange, task)));
  const parts: (Uint8Array | string)[] = ['"tasks":['];
  for (const now of states) {
    if (now.kind !== 'shown') continue;
    if (parts.length > 1) parts.push(',');
    parts.push(objectOf([legacyTask(now.members)]));
  }
  return complete(concat([...parts, ']']));
}

/** Final at once, whatever its server makes of it; a late result is discarded (protocol.md Part 7 #39). */
async function cancelTask(room: Room, exchange: Exchange, task: FoundTask): Promise<Step> {
  const { tenant } = exchange.route;
  const now = await taskNow(room, exchange, task);
  if (now.kind !== 'shown') return now;
  if (TERMINAL.has(now.status)) return refused('invalid-params', { message: 'The task has ended already.' });
  const { record, id, up } = task;
  const at = new Date(room.deps.clock.now()).toISOString();
  const times = `"createdAt":${JSON.stringify(record.createdAt)},"lastUpdatedAt":"${at}","ttlMs":${record.ttlMs}`;
  const members = `"taskId":${JSON.stringify(id)},"status":"cancelled",${times}`;
  const first = await storeOf(room).end(tenant, id, members, record.endsAt - room.deps.clock.now());
  if (!first) return refused('invalid-params', { message: 'The task has ended already.' });
  const told = await tellNode(room, exchange, up, task, 'tasks/cancel', NO_BODY);
  if (told.kind === 'fault' && !isGone(told.fault)) {
    room.deps.log.warn({ reason: told.fault.reason, server: up.spec.name }, 'a cancelled task may still run');
  }
  return complete(legacyTask(Buffer.from(members)));
}

/** Waits for the end, or for a set of questions that the caller does not know yet. */
async function resultOf(room: Room, sight: Sight, task: FoundTask, ask: Ask, listener: AnswerListener): Promise<Step> {
  const { exchange } = sight;
  const answers = findMember(ask.params, 'inputResponses');
  if (answers !== undefined) {
    const body = concat(['"inputResponses":', ask.bytes.subarray(answers.start, answers.end)]);
    const told = await tellNode(room, exchange, task.up, task, 'tasks/update', body);
    if (told.kind === 'fault' && !isGone(told.fault)) return faulted(told.fault, task.up.spec, task.record.era);
    listener.accepted?.();
  }
  const known = stringOf(ask.bytes, findMember(ask.params, 'requestState')) ?? '';
  const changes = await Changes.of(room, exchange, task.id);
  try {
    for (;;) {
      const found = await findTask(room, sight, task.id);
      if (found.kind !== 'task') return found;
      const now = await taskNow(room, exchange, found);
      if (now.kind !== 'shown') return now;
      if (TERMINAL.has(now.status)) return underlying(now.members, now.status, found);
      const open = now.status === 'input_required' ? openQuestions(now.members) : null;
      if (open !== null && open.state !== known) return asked(open);
      await changes.next();
      if (exchange.signal.aborted) return refused('cancelled');
    }
  } finally {
    changes.close();
  }
}

function underlying(members: Uint8Array, status: string, { id, up }: FoundTask): Step {
  const server = up.spec.name;
  if (status === 'cancelled') return refused('invalid-params', { message: 'The task was cancelled.' });
  if (status === 'failed') return { ...refused('upstream', underlyingError(members)), server };
  const result = underlyingResult(members, id);
  if (result === null) return refused('internal');
  return { kind: 'result', resultType: 'complete', members: result.members, meta: result.meta, server };
}

function asked({ text, state }: { readonly text: Uint8Array; readonly state: string }): Answer {
  const members = concat(['"inputRequests":', text, `,"requestState":${JSON.stringify(state)}`]);
  return { kind: 'result', resultType: 'input_required', members };
}

function complete(members: Uint8Array): Answer {
  return { kind: 'result', resultType: 'complete', members };
}

/** Hints of one task while somebody waits for it; a look now and then, since hints may be lost. */
class Changes {
  private readonly room: Room;
  private readonly signal: Signal;
  private unsubscribe: (() => Promise<void>) | null = null;
  private pending = false;
  private wake: (() => void) | null = null;

  private constructor(room: Room, signal: Signal) {
    this.room = room;
    this.signal = signal;
  }

  static async of(room: Room, exchange: Exchange, id: string): Promise<Changes> {
    const changes = new Changes(room, exchange.signal);
    changes.unsubscribe = await storeOf(room).onChange(exchange.route.tenant, id, () => changes.hint());
    return changes;
  }

  async next(): Promise<void> {
    if (!this.pending && !this.signal.aborted) {
      await new Promise<void>((resume) => {
        const timer = this.room.deps.clock.setTimer(LOOK_MS, () => this.wake?.());
        const stop = () => this.wake?.();
        this.signal.addEventListener('abort', stop, { once: true });
        this.wake = () => {
          timer.clear();
          this.signal.removeEventListener('abort', stop);
          this.wake = null;
          resume();
        };
      });
    }
    this.pending = false;
  }

  close(): void {
    this.unsubscribe?.().catch(() => {
      // The store is away; the subscription ends with its connection.
    });
  }

  private hint(): void {
    this.pending = true;
    this.wake?.();
  }
}
