// Which tools of a 2025-11-25 server can or must run as tasks (`execution.taskSupport`, protocol.md §1.10). Asked for
// before the process is lent, where it declares tasks at all, since a call must know; asked again when its tools change.

import { findMember, itemsOf, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Clock } from '@lockkeeper/state/clock';
import { ask } from '../raise/wire/ask.ts';
import type { Wire } from '../raise/wire/wire.ts';

export type TaskSupport = 'forbidden' | 'optional' | 'required';

export interface TaskTools {
  supportOf(tool: string): TaskSupport;
  /** Resolves when the list was read, or could not be. */
  load(): Promise<void>;
}

const MAX_PAGES = 100;

const NONE: TaskTools = { supportOf: () => 'forbidden', load: () => Promise.resolve() };

export function createTaskTools(
  wire: Wire,
  clock: Clock,
  capabilities: ServerCapabilities,
  deadlineMs: number,
): TaskTools {
  if (capabilities.tasks?.requests?.tools?.call === undefined) return NONE;
  let known: ReadonlyMap<string, TaskSupport> = new Map();
  let loading: Promise<void> | null = null;

  async function read(): Promise<void> {
    const found = new Map<string, TaskSupport>();
    const until = clock.now() + deadlineMs;
    let cursor = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const left = Math.max(1, until - clock.now());
      const answer = await ask(wire, 'tools/list', () => '', Buffer.from(cursor), left, clock);
      if (answer.kind !== 'answer' || answer.result === undefined) return;
      readPage(answer.line, answer.members, found);
      const next = findMember(answer.members, 'nextCursor');
      if (next?.kind !== 'string') break;
      const following = `"cursor":${textOf(answer.line, next)}`;
      if (following === cursor) break;
      cursor = following;
    }
    known = found;
  }

  return {
    supportOf: (tool) => known.get(tool) ?? 'forbidden',
    load() {
      loading ??= read().finally(() => {
        loading = null;
      });
      return loading;
    },
  };
}

function readPage(line: Uint8Array, result: Parameters<typeof findMember>[0], found: Map<string, TaskSupport>): void {
  const tools = findMember(result, 'tools');
  if (tools?.kind !== 'array') return;
  for (const item of itemsOf(line, tools)) {
    if (item.kind !== 'object') continue;
    const members = membersOf(line, item);
    const name = stringOf(line, findMember(members, 'name'));
    const execution = findMember(members, 'execution');
    if (name === undefined || execution?.kind !== 'object') continue;
    const support = stringOf(line, findMember(membersOf(line, execution), 'taskSupport'));
    if (support === 'optional' || support === 'required') found.set(name, support);
  }
}
