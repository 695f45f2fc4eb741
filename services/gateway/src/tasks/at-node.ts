// Asks the node that keeps a task, and no other: the one the record names, in the life it had then (design §5 "Drain":
// tasks follow the node in their record).

import type { TaskRecord } from '@lockkeeper/state/tasks/task-store';
import type { Exchange } from '../exchange.ts';
import type { LinkAnswer } from '../link/contract.ts';
import type { Upstream } from '../route/contract.ts';
import type { Room } from '../route/room.ts';
import { linkRequest } from '../route/upstream.ts';

export interface KnownTask {
  readonly id: string;
  readonly record: TaskRecord;
}

export type TaskMethod = 'tasks/get' | 'tasks/update' | 'tasks/cancel';

const NOBODY = { event: () => {} };

export function tellNode(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  { id, record }: KnownTask,
  method: TaskMethod,
  body: Uint8Array,
): Promise<LinkAnswer> {
  // Of its own: one gateway may ask several things about one task at once.
  const request = linkRequest(exchange, up, room.deps.newXid(), {
    method,
    body,
    safe: method === 'tasks/get',
    name: id,
  });
  const { digest, node, incarnation } = record;
  return room.deps.link.call({ ...request, digest, node, incarnation }, NOBODY, exchange.signal);
}
