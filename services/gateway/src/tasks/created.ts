// A task has been made, by the server or by the node: its record is written before the client hears of it (ext-tasks
// "durably created"), so that any gateway, and this one after a restart, can find it again.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { TaskRecord } from '@lockkeeper/state/tasks/task-store';
import type { Answer, Exchange } from '../exchange.ts';
import type { LinkAnswer } from '../link/contract.ts';
import type { Step, Upstream } from '../route/contract.ts';
import { refused } from '../route/refuse.ts';
import { faulted, type Room } from '../route/room.ts';
import { atMost } from '../route/wait.ts';
import { tellNode } from './at-node.ts';
import { legacyTask } from './legacy-text.ts';

export interface Made {
  readonly up: Upstream;
  readonly era: Era;
  /** The tool's own name. */
  readonly tool: string;
}

const WRITE_MS = 5_000;

export async function created(
  room: Room,
  exchange: Exchange,
  made: Made,
  answer: Extract<LinkAnswer, { kind: 'result' }>,
): Promise<Step> {
  const { up, era } = made;
  const read = readCreated(answer.body);
  const { tasks, clock } = room.deps;
  if (read === null || tasks === undefined || answer.node === undefined) {
    const message = 'its task cannot be read';
    return faulted({ reason: 'protocol', code: -32603, message, mayHaveRun: true }, up.spec, era);
  }
  const { tenant } = exchange.route;
  const upstreamTask = answer.head.origin?.upstreamTask;
  const record: TaskRecord = {
    principal: exchange.caller.principal,
    route: exchange.route.path,
    server: up.spec.name,
    digest: up.spec.digest,
    era,
    tool: made.tool,
    capabilities: up.capabilities,
    node: answer.node.id,
    incarnation: answer.node.incarnation,
    ...(upstreamTask === undefined ? {} : { upstreamTask }),
    createdAt: read.createdAt,
    endsAt: clock.now() + read.ttlMs,
    ttlMs: read.ttlMs,
  };
  // Copied: it may be a view of a larger buffer, and we are about to wait.
  const members = copyOf(answer.body);
  if (await atMost(clock, WRITE_MS, tasks.create(tenant, read.id, record), false)) {
    const { principal } = exchange.caller;
    if (exchange.route.legacyTasks) await atMost(clock, WRITE_MS, tasks.enlist(principal, read.id, read.ttlMs), null);
    const { meta } = answer.head;
    if (exchange.era === 'legacy') {
      // Nested, as 2025-11-25 has it.
      const nested = concat(['"task":', objectOf([legacyTask(members)])]);
      return { kind: 'result', resultType: 'complete', server: up.spec.name, members: nested };
    }
    const result: Answer = {
      kind: 'result',
      resultType: 'task',
      server: up.spec.name,
      members,
      ...(meta === undefined ? {} : { meta }),
    };
    return result;
  }
  // Nobody could ever ask for it.
  void tellNode(room, exchange, up, { id: read.id, record }, 'tasks/cancel', new Uint8Array(0));
  return refused('unreadable');
}

function readCreated(members: Uint8Array): { id: string; ttlMs: number; createdAt: string } | null {
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const id = stringOf(whole, findMember(found, 'taskId'));
  const ttl = findMember(found, 'ttlMs');
  const ttlMs = ttl?.kind === 'number' ? Number(textOf(whole, ttl)) : 0;
  if (id === undefined || !(ttlMs > 0)) return null;
  return { id, ttlMs, createdAt: stringOf(whole, findMember(found, 'createdAt')) ?? '' };
}
