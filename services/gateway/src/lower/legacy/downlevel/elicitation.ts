// Elicitation for older revisions (protocol.md §1.8, §5.3): 2025-06-18 knows forms without `mode`, titles as
// `enumNames`, defaults of booleans only and no lists; 2025-11-25 wants an elicitationId with a URL. The message, the
// schema's own words and the URL stay byte for byte. Pure.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { type Change, changed, type Item, mapMembers, mapObject } from './edit.ts';
import { type InputRequest, type LoweredQuestion, paramsOf, textParam } from './input-request.ts';

/** Nobody has declined (protocol.md §5.3). */
const CANNOT_BE_SHOWN: LoweredQuestion = { kind: 'answer', response: '{"action":"cancel"}' };

/** `elicitationId` is put in by whoever mints it. */
export function lowerUrl(request: InputRequest): LoweredQuestion {
  const url = textParam(request, 'url');
  if (url === undefined || !isShowable(url)) return CANNOT_BE_SHOWN;
  const params = mapMembers(request.bytes, request.params!, paramsOf(request), (m) =>
    m.key === '_meta' || m.key === 'task' || m.key === 'elicitationId' ? 'drop' : 'keep',
  );
  return { kind: 'wire', params, url };
}

/** Schemes that a client may be told to open (protocol.md Part 6 #16). */
function isShowable(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

export function lowerForm(request: InputRequest, revision: string): LoweredQuestion {
  const { bytes, params } = request;
  if (params === null) return CANNOT_BE_SHOWN;
  const newest = atLeast(revision, '2025-11-25');
  const members = paramsOf(request);
  const schema = findMember(members, 'requestedSchema');
  if (!newest && schema !== undefined && hasList(bytes, schema)) return CANNOT_BE_SHOWN;
  const lowered = mapMembers(bytes, params, members, (m) => {
    if (m.key === '_meta' || m.key === 'task' || (m.key === 'mode' && !newest)) return 'drop';
    return m.key === 'requestedSchema' ? lowerSchema(bytes, m, newest) : 'keep';
  });
  return { kind: 'wire', params: lowered };
}

/** `$schema` came with 2026-07-28. */
function lowerSchema(bytes: Uint8Array, schema: Member, newest: boolean): Change {
  if (schema.kind !== 'object') return 'keep';
  const next = mapObject(bytes, schema, (m) => {
    if (m.key === '$schema') return 'drop';
    return m.key === 'properties' && m.kind === 'object' && !newest ? lowerProperties(bytes, m) : 'keep';
  });
  return changed(bytes, schema, next);
}

function lowerProperties(bytes: Uint8Array, properties: Member): Change {
  const next = mapObject(bytes, properties, (m) => (m.kind === 'object' ? lowerProperty(bytes, m) : 'keep'));
  return changed(bytes, properties, next);
}

function lowerProperty(bytes: Uint8Array, property: Member): Change {
  const members = membersOf(bytes, property);
  const titled = findMember(members, 'oneOf');
  if (titled?.kind === 'array') return withNames(bytes, property, members, itemsOf(bytes, titled));
  if (stringOf(bytes, findMember(members, 'type')) === 'boolean') return 'keep';
  const next = mapMembers(bytes, property, members, (m) => (m.key === 'default' ? 'drop' : 'keep'));
  return changed(bytes, property, next);
}

interface Choice {
  readonly const?: unknown;
  readonly title?: unknown;
}

/** `oneOf: [{const, title}]` as `enum` beside `enumNames`, in the place of `oneOf`. */
function withNames(bytes: Uint8Array, property: Member, members: readonly Member[], items: readonly Item[]): Change {
  const choices = items.map((item) => parseSpan(bytes, item) as Choice | null);
  const values = choices.map((c) => c?.const);
  const names = choices.map((c, i) => (typeof c?.title === 'string' ? c.title : String(values[i])));
  const text = `"enum":${JSON.stringify(values)},"enumNames":${JSON.stringify(names)}`;
  const dropped = new Set(['oneOf', 'default', 'enum', 'enumNames']);
  return mapMembers(bytes, property, members, (m) => (dropped.has(m.key) ? 'drop' : 'keep'), bytesOf(text));
}

function hasList(bytes: Uint8Array, schema: Member): boolean {
  if (schema.kind !== 'object') return false;
  const properties = findMember(membersOf(bytes, schema), 'properties');
  if (properties?.kind !== 'object') return false;
  return membersOf(bytes, properties).some(
    (p) => p.kind === 'object' && stringOf(bytes, findMember(membersOf(bytes, p), 'type')) === 'array',
  );
}
