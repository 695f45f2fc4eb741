// Whether a call may be answered with a task (protocol.md §1.10): only if this very request declared the extension, and
// only where the handle can be kept and bound to the person and the program.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { TaskOffer } from '@lockkeeper/protocol/link/frames';
import { TASKS_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import type { Answer, Ask, Exchange } from '../exchange.ts';
import { bound } from '../route/questions/binding.ts';
import { refused } from '../route/refuse.ts';
import type { Room } from '../route/room.ts';

export function servesTasks(room: Room, exchange: Exchange): boolean {
  return room.deps.tasks !== undefined && exchange.route.tasks && exchange.era === 'modern';
}

export function declaresTasks({ capabilities }: Exchange): boolean {
  return capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}

export function offerOf(room: Room, exchange: Exchange, spec: ServerSpec, ask: Ask): TaskOffer | undefined {
  if (ask.method !== 'tools/call' || !servesTasks(room, exchange) || !declaresTasks(exchange)) return undefined;
  // Without a record there is no task: while the store is away a call stays a call.
  if (!bound(exchange) || !room.deps.store.reachable()) return undefined;
  const { limits } = exchange.snapshot;
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
