// tasks/get, tasks/update, tasks/cancel of the 2026 extension (protocol.md §1.10). Who asks is checked each time, and
// so is what the policy says of the tool today.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import type { Answer, Ask } from '../exchange.ts';
import type { Step } from '../route/contract.ts';
import { foreignAnswer } from '../route/questions/retry.ts';
import { refused } from '../route/refuse.ts';
import { faulted, type Room } from '../route/room.ts';
import type { Sight } from '../route/sight.ts';
import { tellNode } from './at-node.ts';
import { declaresTasks, servesTasks, undeclared } from './offer.ts';
import { type FoundTask, findTask, isGone, taskNow } from './task.ts';

const NO_BODY = new Uint8Array(0);
const ACKNOWLEDGED: Answer = { kind: 'result', resultType: 'complete', members: NO_BODY };

export async function answerTask(room: Room, sight: Sight, ask: Ask): Promise<Step> {
  const { exchange } = sight;
  if (!servesTasks(room, exchange)) return refused('unknown-method');
  if (!declaresTasks(exchange)) return undeclared();
  if (ask.name === undefined) return refused('invalid-params', { message: 'params.taskId must be a string.' });
  if (!room.deps.store.reachable()) return refused('unreadable');
  const task = await findTask(room, sight, ask.name);
  if (task.kind !== 'task') return task;
  const step = await byMethod(room, sight, task, ask);
  return step.kind === 'fault' ? step : { ...step, server: task.up.spec.name };
}

async function byMethod(room: Room, sight: Sight, task: FoundTask, ask: Ask): Promise<Step> {
  const { exchange } = sight;
  if (ask.method === 'tasks/get') {
    const now = await taskNow(room, exchange, task);
    return now.kind === 'shown' ? { kind: 'result', resultType: 'complete', members: now.members } : now;
  }
  if (ask.method === 'tasks/cancel') return tell(room, sight, task, 'tasks/cancel', NO_BODY);
  const answers = findMember(ask.params, 'inputResponses');
  if (answers?.kind !== 'object') {
    return refused('invalid-params', { message: 'params.inputResponses must be an object.' });
  }
  const foreign = foreignAnswer(exchange, ask);
  if (foreign !== null) {
    return refused('invalid-params', { message: `params.inputResponses.${foreign.slice(0, 60)} is no answer.` });
  }
  const body = concat(['"inputResponses":', ask.bytes.subarray(answers.start, answers.end)]);
  return tell(room, sight, task, 'tasks/update', body);
}

/** Acknowledged also when it has ended: who cancels or answers late learns so from tasks/get (ext-tasks "idempotent"). */
async function tell(
  room: Room,
  { exchange }: Sight,
  task: FoundTask,
  method: 'tasks/update' | 'tasks/cancel',
  body: Uint8Array,
): Promise<Step> {
  if (task.end !== null) return ACKNOWLEDGED;
  const answer = await tellNode(room, exchange, task.up, task, method, body);
  if (answer.kind === 'result' || isGone(answer.fault)) return ACKNOWLEDGED;
  return faulted(answer.fault, task.up.spec, task.record.era);
}
