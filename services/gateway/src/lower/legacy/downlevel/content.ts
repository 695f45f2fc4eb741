// Content blocks for older revisions (protocol.md §1.6, §5.9): audio and resource links become text where the
// revision has no such block, order kept; block types nobody knows pass as they are (GB-092).

import { findMember, type Member, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { type Change, changed, type Item, mapArray, mapMembers, mapObject, raw } from './edit.ts';
import { FIELDS, fieldRule, knows, lowerAnnotations } from './fields.ts';

const AUDIO_SINCE = '2025-03-26';
const LINK_SINCE = '2025-06-18';

/** Whether blocks of this revision never need a change. */
export function blocksUnchanged(revision: string): boolean {
  return atLeast(revision, '2025-11-25');
}

export function lowerBlocks(bytes: Uint8Array, array: Member, revision: string): Change {
  if (array.kind !== 'array') return 'keep';
  return changed(
    bytes,
    array,
    mapArray(bytes, array, (item) => lowerBlock(bytes, item, revision)),
  );
}

export function lowerBlock(bytes: Uint8Array, item: Item, revision: string): Change {
  if (item.kind !== 'object' || blocksUnchanged(revision)) return 'keep';
  const members = membersOf(bytes, item);
  const type = stringOf(bytes, findMember(members, 'type'));
  if (type === 'audio' && !atLeast(revision, AUDIO_SINCE)) return asText(bytes, members, audioWords, revision);
  if (type === 'resource_link' && !atLeast(revision, LINK_SINCE)) return asText(bytes, members, linkWords, revision);
  const next = mapMembers(bytes, item, members, (m) => {
    if (!knows(FIELDS.block, m.key, revision)) return 'drop';
    if (m.key === 'annotations') return lowerAnnotations(bytes, m, revision);
    if (m.key === 'resource' && type === 'resource' && m.kind === 'object') return lowerContents(bytes, m, revision);
    return 'keep';
  });
  return changed(bytes, item, next);
}

/** One entry of `contents`, or the `resource` of an embedded one. */
export function lowerContents(bytes: Uint8Array, item: Item, revision: string): Change {
  if (item.kind !== 'object') return 'keep';
  return changed(bytes, item, mapObject(bytes, item, fieldRule(FIELDS.contents, revision)));
}

/** prompts/get: each message's content, a block (an array of them is passed through block by block). */
export function lowerMessage(bytes: Uint8Array, item: Item, revision: string): Change {
  if (item.kind !== 'object') return 'keep';
  const next = mapObject(bytes, item, (m) => {
    if (m.key !== 'content') return 'keep';
    return m.kind === 'array' ? lowerBlocks(bytes, m, revision) : lowerBlock(bytes, m, revision);
  });
  return changed(bytes, item, next);
}

function asText(
  bytes: Uint8Array,
  members: readonly Member[],
  words: (get: (key: string) => string | undefined) => string,
  revision: string,
): string {
  const text = words((key) => stringOf(bytes, findMember(members, key)));
  const head = `{"type":"text","text":${JSON.stringify(text)}`;
  const annotations = findMember(members, 'annotations');
  if (annotations === undefined || annotations.kind !== 'object') return `${head}}`;
  const lowered = lowerAnnotations(bytes, annotations, revision);
  const value = lowered === 'keep' ? raw(bytes, annotations) : (lowered as Uint8Array);
  return `${head},"annotations":${new TextDecoder().decode(value)}}`;
}

function audioWords(get: (key: string) => string | undefined): string {
  return `[audio, ${get('mimeType') ?? 'unknown type'}: this client's protocol revision cannot carry audio]`;
}

function linkWords(get: (key: string) => string | undefined): string {
  const name = get('title') ?? get('name');
  const uri = get('uri') ?? '';
  return name === undefined ? `<${uri}>` : `${name} <${uri}>`;
}

/** The text of every text block, for the check that structured content is there in words. */
export function textsOf(bytes: Uint8Array, array: Member): string[] {
  const blocks = array.kind === 'array' ? (parseSpan(bytes, array) as unknown[]) : [];
  return blocks.flatMap((b) => {
    const block = b as { type?: unknown; text?: unknown } | null;
    return block !== null && block.type === 'text' && typeof block.text === 'string' ? [block.text] : [];
  });
}
