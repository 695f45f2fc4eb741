// tools/list and tools/call for older revisions (protocol.md §1.6, §5.9).

import { concat } from '@lockkeeper/protocol/json/compose';
import {
  findMember,
  type Member,
  membersIn,
  membersOf,
  parseSpan,
  stringOf,
  textOf,
} from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { blocksUnchanged, lowerBlocks, textsOf } from './content.ts';
import {
  type Change,
  changed,
  editMembers,
  type Item,
  mapArray,
  mapMembers,
  mapObject,
  mentions,
  type Parts,
  raw,
} from './edit.ts';
import { FIELDS, knows } from './fields.ts';
import { lowerOutputSchema } from './output-schema.ts';

const STRUCTURED_SINCE = '2025-06-18';

export function lowerTools(bytes: Uint8Array, array: Member, revision: string, bridged = false): Change {
  if (array.kind !== 'array' || !toolsMayChange(raw(bytes, array), revision)) return 'keep';
  return changed(
    bytes,
    array,
    mapArray(bytes, array, (item) => lowerTool(bytes, item, revision, bridged)),
  );
}

function toolsMayChange(tools: Uint8Array, revision: string): boolean {
  if (!atLeast(revision, '2025-06-18')) return true;
  if (mentions(tools, '"outputSchema"') || mentions(tools, '"execution"')) return true;
  return !atLeast(revision, '2025-11-25') && mentions(tools, '"icons"');
}

function lowerTool(bytes: Uint8Array, item: Item, revision: string, bridged: boolean): Change {
  if (item.kind !== 'object') return 'keep';
  const members = membersOf(bytes, item);
  const title = titleForAnnotations(bytes, members, revision);
  const next = mapMembers(
    bytes,
    item,
    members,
    (m) => {
      if (m.key === 'execution' && bridged && atLeast(revision, '2025-11-25')) return 'keep';
      if (!knows(FIELDS.tool, m.key, revision)) return 'drop';
      if (m.key === 'outputSchema') return lowerOutputSchema(bytes, m);
      if (m.key === 'annotations' && title !== null && m.kind === 'object') return withTitle(bytes, m, title);
      return 'keep';
    },
    title !== null && findMember(members, 'annotations') === undefined ? `"annotations":{"title":${title}}` : '',
  );
  return changed(bytes, item, next);
}

/** 2025-03-26 has a title in annotations only: the raw text of ours where that place is empty. */
function titleForAnnotations(bytes: Uint8Array, members: readonly Member[], revision: string): string | null {
  if (revision !== '2025-03-26') return null;
  const title = findMember(members, 'title');
  return title?.kind === 'string' ? textOf(bytes, title) : null;
}

function withTitle(bytes: Uint8Array, annotations: Member, title: string): Change {
  const own = findMember(membersOf(bytes, annotations), 'title');
  if (own?.kind === 'string' && stringOf(bytes, own) !== '') return 'keep';
  return mapObject(
    bytes,
    annotations,
    (m) => (m.key === 'title' ? title : 'keep'),
    own === undefined ? `"title":${title}` : '',
  );
}

/** The members of a CallToolResult; null: nothing changes. */
export function lowerCallResult(result: Uint8Array, revision: string): Parts | null {
  if (!callMayChange(result, revision)) return null;
  const members = membersIn(result);
  const structured = findMember(members, 'structuredContent');
  const content = findMember(members, 'content');
  const keeps = atLeast(revision, STRUCTURED_SINCE);
  const extra = structured === undefined || keeps ? null : missingText(result, content, structured);
  return editMembers(
    result,
    members,
    (m) => {
      if (m.key === 'structuredContent') return keeps ? objectRooted(result, m) : 'drop';
      if (m.key === 'content') return withBlock(result, m, revision, extra);
      return 'keep';
    },
    content === undefined ? `"content":[${extra ?? ''}]` : '',
  );
}

function callMayChange(result: Uint8Array, revision: string): boolean {
  if (!blocksUnchanged(revision) || mentions(result, '"structuredContent"')) return true;
  return !startsWith(result, '"content":');
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[i] !== text.charCodeAt(i)) return false;
  return true;
}

/** 2025-06-18 and 2025-11-25 want an object: anything else goes under `result`, as the listed schema says. */
function objectRooted(bytes: Uint8Array, m: Member): Change {
  return m.kind === 'object' ? 'keep' : concat(['{"result":', raw(bytes, m), '}']);
}

function withBlock(bytes: Uint8Array, content: Member, revision: string, extra: string | null): Change {
  const lowered = lowerBlocks(bytes, content, revision);
  if (extra === null || content.kind !== 'array') return lowered;
  const array = lowered === 'keep' ? raw(bytes, content) : (lowered as Uint8Array);
  return mapArray(array, { start: 0, end: array.length }, () => 'keep', extra);
}

/** Structured content a revision cannot carry must be there in words: the block to add, or null when one has it. */
function missingText(bytes: Uint8Array, content: Member | undefined, structured: Member): string | null {
  const value = JSON.stringify(parseSpan(bytes, structured));
  const texts = content === undefined ? [] : textsOf(bytes, content);
  if (texts.some((t) => sameJson(t, value))) return null;
  return `{"type":"text","text":${JSON.stringify(textOf(bytes, structured))}}`;
}

function sameJson(text: string, value: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === value;
  } catch {
    return false; // words, not JSON
  }
}
