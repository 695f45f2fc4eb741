// A modern result as the revision of a legacy client knows it (protocol.md §5.3, §5.9): what only the modern envelope
// has is taken out, what the revision lacks is converted, everything else stays byte for byte. Pure.

import { objectOf } from '@lockkeeper/protocol/json/compose';
import { type Member, membersIn } from '@lockkeeper/protocol/json/scan';
import { META_PREFIX, RELATED_TASK } from '@lockkeeper/protocol/mcp/meta';
import { LEGACY_METHODS } from '@lockkeeper/protocol/mcp/methods';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { blocksUnchanged, lowerContents, lowerMessage } from './content.ts';
import { type Change, changed, editMembers, type Item, inside, mapArray, mapObject, type Parts } from './edit.ts';
import { lowerListed } from './fields.ts';
import { lowerCallResult, lowerTools } from './tools.ts';

/**
 * Members of the modern result in, the legacy result's object text out, in parts: of a large one nothing is copied.
 * `meta`: vendor `_meta` members. `bridged`: tasks of 2025-11-25 are served, so what speaks of them stays.
 */
export function lowerResult(
  method: string,
  revision: string,
  members: Uint8Array,
  meta?: string,
  bridged = false,
): Parts {
  const lowered = lowerMembers(method, revision, members, bridged) ?? [members];
  const vendor = meta === undefined ? '' : vendorMeta(meta, bridged);
  if (vendor === '') return ['{', ...lowered, '}'];
  const comma = lowered.some((part) => part.length > 0) ? ',' : '';
  return ['{', ...lowered, `${comma}"_meta":{${vendor}}}`];
}

/** Null: nothing changes. */
function lowerMembers(method: string, revision: string, members: Uint8Array, bridged: boolean): Parts | null {
  if (method === 'tools/call' || method === 'tasks/result') return lowerCallResult(members, revision);
  const cacheable = LEGACY_METHODS.get(method)?.cacheable === true;
  const rule = ruleOf(method, members, revision, bridged);
  if (!cacheable && rule === null) return null;
  return editMembers(members, membersIn(members), (m) => {
    if (cacheable && (m.key === 'ttlMs' || m.key === 'cacheScope')) return 'drop';
    return rule === null ? 'keep' : rule(m);
  });
}

/** What else changes in results of this method; null: nothing for this revision. */
function ruleOf(method: string, bytes: Uint8Array, revision: string, bridged: boolean): ((m: Member) => Change) | null {
  if (method === 'tools/list') return (m) => (m.key === 'tools' ? lowerTools(bytes, m, revision, bridged) : 'keep');
  if (atLeast(revision, '2025-11-25')) return null;
  switch (method) {
    case 'resources/list':
      return items(bytes, 'resources', (i) => lowerListed(bytes, i, 'resource', revision));
    case 'resources/templates/list':
      return items(bytes, 'resourceTemplates', (i) => lowerListed(bytes, i, 'resource', revision));
    case 'prompts/list':
      return items(bytes, 'prompts', (i) => lowerListed(bytes, i, 'prompt', revision));
    case 'prompts/get':
      return blocksUnchanged(revision) ? null : items(bytes, 'messages', (i) => lowerMessage(bytes, i, revision));
    case 'resources/read':
      return items(bytes, 'contents', (i) => lowerContents(bytes, i, revision));
    default:
      return null;
  }
}

function items(bytes: Uint8Array, key: string, change: (item: Item) => Change): (m: Member) => Change {
  return (m) =>
    m.key === key && m.kind === 'array'
      ? changed(
          bytes,
          m,
          mapArray(bytes, m, (item) => change(item)),
        )
      : 'keep';
}

/** Reserved names belong to the modern hop that made them (protocol.md §5.0 I8); a vendor's pass. */
export function vendorMeta(meta: string, bridged = false): string {
  if (!meta.includes('modelcontextprotocol')) return meta;
  const whole = objectOf([meta]);
  const kept = mapObject(whole, { start: 0, end: whole.length }, (m) =>
    m.key.startsWith(META_PREFIX) && !(bridged && m.key === RELATED_TASK) ? 'drop' : 'keep',
  );
  return new TextDecoder().decode(inside(kept));
}
