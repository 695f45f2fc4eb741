// Sampling for older revisions (protocol.md §1.7, §5.3, §5.9): tools and context only for clients that declared them,
// one content block a message before 2025-11-25. What such a client cannot be asked is refused to the server, which is
// a user's refusal to it. Prompts, hints and limits stay byte for byte. Pure.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { lowerBlock } from './content.ts';
import { type Change, type Item, mapMembers, mapObject, raw } from './edit.ts';
import { type Hearer, type InputRequest, type LoweredQuestion, paramsOf } from './input-request.ts';

const TOOL_BLOCKS: ReadonlySet<string> = new Set(['tool_use', 'tool_result']);

export function lowerSampling(hearer: Hearer, request: InputRequest): LoweredQuestion {
  const { bytes, params } = request;
  if (params === null) return refused('The request has no messages.');
  const members = paramsOf(request);
  const { sampling } = hearer.capabilities;
  const wantsTools = findMember(members, 'tools') !== undefined || findMember(members, 'toolChoice') !== undefined;
  if (wantsTools && sampling?.tools === undefined) return refused('This client did not declare sampling.tools.');
  const newest = atLeast(hearer.revision, '2025-11-25');
  const messages = findMember(members, 'messages');
  if (!newest && messages?.kind === 'array' && hasToolBlocks(bytes, messages)) {
    return refused("This client's protocol revision has no tool blocks in sampling.");
  }
  const lowered = mapMembers(bytes, params, members, (m) => {
    if (m.key === '_meta' || m.key === 'task') return 'drop';
    if (m.key === 'includeContext') return context(hearer, bytes, m);
    return m.key === 'messages' && m.kind === 'array' && !newest ? singles(bytes, m, hearer.revision) : 'keep';
  });
  return { kind: 'wire', params: lowered };
}

function refused(message: string): LoweredQuestion {
  return { kind: 'answer', response: `{"lk/error":{"code":-32602,"message":${JSON.stringify(message)}}}` };
}

/** Nothing can be scoped to one server behind an aggregate, nor to the others that the client knows. */
function context({ capabilities, aggregate }: Hearer, bytes: Uint8Array, m: Member): Change {
  const scoped = capabilities.sampling?.context !== undefined && !aggregate;
  return scoped && stringOf(bytes, m) === 'thisServer' ? 'keep' : '"none"';
}

function contentOf(bytes: Uint8Array, message: Item): Member | undefined {
  return message.kind === 'object' ? findMember(membersOf(bytes, message), 'content') : undefined;
}

function blocksOf(bytes: Uint8Array, content: Member): readonly Item[] {
  return content.kind === 'array' ? itemsOf(bytes, content) : [content];
}

function hasToolBlocks(bytes: Uint8Array, messages: Member): boolean {
  return itemsOf(bytes, messages).some((message) => {
    const content = contentOf(bytes, message);
    return content !== undefined && blocksOf(bytes, content).some((block) => isToolBlock(bytes, block));
  });
}

function isToolBlock(bytes: Uint8Array, block: Item): boolean {
  if (block.kind !== 'object') return false;
  return TOOL_BLOCKS.has(stringOf(bytes, findMember(membersOf(bytes, block), 'type')) ?? '');
}

/** One block a message: a list of one is unwrapped, a longer one becomes messages of the same role, in order. */
function singles(bytes: Uint8Array, messages: Member, revision: string): Uint8Array {
  const parts: (Uint8Array | string)[] = [];
  for (const message of itemsOf(bytes, messages)) {
    const content = contentOf(bytes, message);
    const blocks = content === undefined ? [] : blocksOf(bytes, content);
    if (content === undefined) parts.push(',', raw(bytes, message));
    for (const block of blocks) {
      const lowered = lowerBlock(bytes, block, revision);
      const value = lowered === 'keep' || lowered === 'drop' ? raw(bytes, block) : lowered;
      parts.push(
        ',',
        mapObject(bytes, message, (m) => (m.key === 'content' ? value : m.key === '_meta' ? 'drop' : 'keep')),
      );
    }
  }
  return concat(['[', ...parts.slice(1), ']']);
}
