// Whether a call may be answered with a task (protocol.md §1.10): only if this very request declared the extension, and
// only where the handle can be kept and bound to the person and the program.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { findMember, membersOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { TaskOffer } from '@lockkeeper/protocol/link/frames';
import { TASKS_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import type { Answer, Ask, Exchange } from '../exchange.ts';
import { bound } from '../route/questions/binding.ts';
import { refused } from '../route/refuse.ts';
import type { Room } from '../route/room.ts';
import { servesLegacyTasks } from './legacy-tasks.ts';

export function servesTasks(room: Room, exchange: Exchange): boolean {
  return room.deps.tasks !== undefined && exchange.route.tasks && exchange.era === 'modern';
}

export function declaresTasks({ capabilities }: Exchange): boolean {
  return capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}

export function offerOf(room: Room, exchange: Exchange, spec: ServerSpec, ask: Ask): TaskOffer | undefined {
  if (ask.method !== 'tools/call' || ask.wait === true) return undefined;
  const wished = servesLegacyTasks(room, exchange) ? wishOf(ask) : null;
  if (wished === null && !(servesTasks(room, exchange) && declaresTasks(exchange))) return undefined;
  // Without a record there is no task: while the store is away a call stays a call.
  if (!bound(exchange) || !room.deps.store.reachable()) return undefined;
  const { limits } = exchange.snapshot;
  if (wished !== null) {
    // A 2025-11-25 client decides by itself, and at once.
    return { id: room.deps.newXid(), promoteAfterMs: 0, ttlMs: Math.min(wished, limits.taskTtlMs) };
  }
  return {
    id: room.deps.newXid(),
    promoteAfterMs: spec.promoteAfterMs ?? exchange.route.promoteAfterMs ?? limits.promoteAfterMs,
    ttlMs: limits.taskTtlMs,
  };
}

/** protocol.md §1.10 "Undeclared peer". */
export function undeclared(): Answer {
  const message = 'Tasks need the tasks extension.';
  const data = JSON.stringify({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
  return refused('capability', { message, data });
}

/** The ttl of `params.task`; infinite where it names none; null without a wish. */
function wishOf({ bytes, params }: Ask): number | null {
  const task = findMember(params, 'task');
  if (task?.kind !== 'object') return null;
  const ttl = findMember(membersOf(bytes, task), 'ttl');
  const ms = ttl?.kind === 'number' ? Math.floor(Number(textOf(bytes, ttl))) : 0;
  return ms > 0 ? ms : Number.POSITIVE_INFINITY;
}
