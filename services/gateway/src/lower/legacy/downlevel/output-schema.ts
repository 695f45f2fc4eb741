// A tool's outputSchema for 2025-06-18 and 2025-11-25, whose root must be `type: object` (protocol.md §5.9). What can
// never be an object is wrapped as `{result: …}`, as its structuredContent will be; what may or may not be one is
// left out, since the call cannot know afterwards which of the two the list has promised.

import { applyEdits, concat, type Edit } from '@lockkeeper/protocol/json/compose';
import {
  findMember,
  itemsOf,
  type Member,
  membersOf,
  parseSpan,
  type Span,
  stringOf,
} from '@lockkeeper/protocol/json/scan';
import { type Change, mapMembers, raw } from './edit.ts';

/** Larger ones are left out rather than walked (T-51). */
const MAX_BYTES = 256 * 1024;
/** Keywords whose value is data, not a schema. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose members' keys are names. */
const NAMES = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']);
const HOISTED = new Set(['$schema', '$defs', 'definitions']);

export function lowerOutputSchema(bytes: Uint8Array, at: Member): Change {
  if (at.kind !== 'object' || at.end - at.start > MAX_BYTES) return 'drop';
  const members = membersOf(bytes, at);
  switch (rootOf(bytes, members)) {
    case 'object':
      return 'keep';
    case 'never-object':
      return wrap(bytes, at, members);
    case 'ref-to-object':
      return mapMembers(bytes, at, members, () => 'keep', '"type":"object"');
    case 'unclear':
      return 'drop';
  }
}

type Root = 'object' | 'never-object' | 'ref-to-object' | 'unclear';

function rootOf(bytes: Uint8Array, members: readonly Member[]): Root {
  const type = findMember(members, 'type');
  if (type === undefined) return refersToObject(bytes, members) ? 'ref-to-object' : 'unclear';
  if (type.kind === 'string') return stringOf(bytes, type) === 'object' ? 'object' : 'never-object';
  if (type.kind !== 'array') return 'unclear';
  return (parseSpan(bytes, type) as unknown[]).includes('object') ? 'unclear' : 'never-object';
}

/** `{"$ref": "#/$defs/X", "$defs": {"X": {"type": "object"}}}`: the usual shape of recursive output. */
function refersToObject(bytes: Uint8Array, members: readonly Member[]): boolean {
  const ref = stringOf(bytes, findMember(members, '$ref'));
  const found = ref === undefined ? null : /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref);
  if (found === null) return false;
  const table = findMember(members, found[1]!);
  if (table?.kind !== 'object') return false;
  const name = pointerToken(found[2]!);
  const target = findMember(membersOf(bytes, table), name);
  if (target?.kind !== 'object') return false;
  return stringOf(bytes, findMember(membersOf(bytes, target), 'type')) === 'object';
}

function pointerToken(token: string): string {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return token; // not percent-encoded: taken as it stands
  }
}

/** `$defs` move to the root, so references to them stay as they are; every other local one gets its new path. */
function wrap(bytes: Uint8Array, at: Span, members: readonly Member[]): Uint8Array {
  // With an `$id` of its own the schema is its own base: nothing moves, nothing is renamed.
  if (findMember(members, '$id')?.kind === 'string') return wrapped(raw(bytes, at), []);
  const edits: Edit[] = [];
  collectRefs(bytes, at, edits);
  const shifted = edits.map((e) => ({ ...e, start: e.start - at.start, end: e.end - at.start }));
  const schema = applyEdits(raw(bytes, at), shifted);
  const inner = membersOf(schema, { start: 0, end: schema.length });
  const hoisted = inner.filter((m) => HOISTED.has(m.key)).map((m) => schema.subarray(m.keyStart, m.end));
  const rest = mapMembers(schema, { start: 0, end: schema.length }, inner, (m) =>
    HOISTED.has(m.key) ? 'drop' : 'keep',
  );
  return wrapped(rest, hoisted);
}

function wrapped(schema: Uint8Array, hoisted: readonly Uint8Array[]): Uint8Array {
  const parts: (Uint8Array | string)[] = [
    '{"type":"object","properties":{"result":',
    schema,
    '},"required":["result"]',
  ];
  for (const h of hoisted) parts.push(',', h);
  parts.push('}');
  return concat(parts);
}

function collectRefs(bytes: Uint8Array, span: Span, edits: Edit[]): void {
  const members = membersOf(bytes, span);
  for (const m of members) {
    if (m.key === '$ref' || m.key === '$dynamicRef') {
      const moved = movedRef(stringOf(bytes, m));
      if (moved !== null) edits.push({ start: m.start, end: m.end, text: JSON.stringify(moved) });
    } else if (m.kind === 'object' && !DATA.has(m.key)) descend(bytes, m, NAMES.has(m.key), edits);
    else if (m.kind === 'array' && !DATA.has(m.key)) {
      for (const item of itemsOf(bytes, m)) if (item.kind === 'object') descend(bytes, item, false, edits);
    }
  }
}

function descend(bytes: Uint8Array, span: Span, names: boolean, edits: Edit[]): void {
  const members = membersOf(bytes, span);
  if (names) {
    for (const m of members) if (m.kind === 'object') descend(bytes, m, false, edits);
    return;
  }
  // A nested `$id` starts a base of its own: its references are not ours.
  if (findMember(members, '$id')?.kind === 'string') return;
  collectRefs(bytes, span, edits);
}

function movedRef(ref: string | undefined): string | null {
  if (ref === undefined || !ref.startsWith('#')) return null;
  if (ref === '#') return '#/properties/result';
  if (!ref.startsWith('#/')) return null; // an anchor
  if (/^#\/(\$defs|definitions)(\/|$)/.test(ref)) return null;
  return `#/properties/result${ref.slice(1)}`;
}
