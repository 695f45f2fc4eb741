// Tools of a legacy server without what a modern caller must not see: `execution`, and `x-mcp-header` that stands
// there by accident (protocol.md §1.6, §5.2, design ruling 11). Cut out by bytes; everything else stays (GB-136).

import { applyEdits } from '@lockkeeper/protocol/json/compose';
import { type Member, membersOf } from '@lockkeeper/protocol/json/scan';
import { stripParamHeaders } from '@lockkeeper/protocol/mcp/param-headers';

/** Whether a list needs to be looked at tool by tool; escaped spellings of the keys are looked for too. */
export function needsStripping(list: Uint8Array): boolean {
  const text = Buffer.from(list.buffer, list.byteOffset, list.length);
  return text.includes('"execution"') || text.includes('x-mcp-header') || text.includes('\\u');
}

export function strippedTool(tool: Uint8Array): Uint8Array {
  if (tool[0] !== 0x7b) return tool;
  const members = membersOf(tool, { start: 0, end: tool.length });
  const at = members.findIndex((m) => m.key === 'execution');
  const without = at === -1 ? tool : applyEdits(tool, [removal(members, at)]);
  return stripParamHeaders(without);
}

/** The member with one of its commas. */
function removal(members: readonly Member[], at: number): { start: number; end: number; text: string } {
  const next = members[at + 1];
  if (next !== undefined) return { start: members[at]!.keyStart, end: next.keyStart, text: '' };
  const before = members[at - 1];
  return { start: before?.end ?? members[at]!.keyStart, end: members[at]!.end, text: '' };
}
