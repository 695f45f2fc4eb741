// A server's list or profile, read from the members of a result: raw bytes and the few facts that a decision rests
// on. Nothing is reshaped; an item that cannot be read is withheld alone, never the list (GB-137).

import { createHash } from 'node:crypto';
import { membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import {
  findMember,
  itemsOf,
  type Member,
  membersOf,
  parseSpan,
  type Span,
  stringOf,
  textOf,
} from '@lockkeeper/protocol/json/scan';
import { type ParamHeader, paramHeaders } from '@lockkeeper/protocol/mcp/param-headers';

export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates';

export interface ListFacts {
  readonly method: string;
  /** The result member that holds the items. */
  readonly member: string;
  /** The item member that names it. */
  readonly key: 'name' | 'uri' | 'uriTemplate';
}

export const LISTS: Readonly<Record<ListKind, ListFacts>> = {
  tools: { method: 'tools/list', member: 'tools', key: 'name' },
  prompts: { method: 'prompts/list', member: 'prompts', key: 'name' },
  resources: { method: 'resources/list', member: 'resources', key: 'uri' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates', key: 'uriTemplate' },
};

export interface Item {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Of a tool with `x-mcp-header` annotations. */
  readonly headers?: readonly ParamHeader[];
}

export interface List {
  readonly kind: ListKind;
  /** Same content, same version, on every replica. */
  readonly version: string;
  readonly items: readonly Item[];
  readonly byName: ReadonlyMap<string, Item>;
  /** Tools left out because their `x-mcp-header` annotations are invalid: they cannot be called either. */
  readonly dropped: ReadonlySet<string>;
  /** Other members of the result, `_meta` members likewise. */
  readonly extra: Uint8Array;
  readonly meta?: string;
  readonly ttlMs: number;
}

export type Withheld = (name: string, why: string) => void;

const OWN_MEMBERS: ReadonlySet<string> = new Set(['nextCursor', 'ttlMs', 'cacheScope']);
const ANNOTATION = Buffer.from('x-mcp-header');
const PER_REQUEST: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage']);

/** Null when the result holds no list: the server broke the protocol. */
export function parseList(
  kind: ListKind,
  members: Uint8Array,
  meta: string | undefined,
  annotated: boolean,
  withheld: Withheld,
): List | null {
  const { member, key } = LISTS[kind];
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const array = findMember(found, member);
  if (array === undefined || array.kind !== 'array') return null;
  const read = readItems(whole, array, key, kind === 'tools' && annotated, withheld);
  const kept = meta === undefined ? undefined : keptMeta(meta);
  return {
    kind,
    ...read,
    version: createHash('sha256').update(whole.subarray(array.start, array.end)).digest('base64url').slice(0, 16),
    extra: membersWithout(whole, found, (k) => k === member || OWN_MEMBERS.has(k)),
    ...(kept === undefined ? {} : { meta: kept }),
    ttlMs: ttlOf(whole, found),
  };
}

function readItems(whole: Uint8Array, array: Span, key: string, annotated: boolean, withheld: Withheld) {
  const items: Item[] = [];
  const byName = new Map<string, Item>();
  const dropped = new Set<string>();
  for (const span of itemsOf(whole, array)) {
    const read = readItem(whole, span, key, annotated);
    if ('why' in read) {
      withheld(read.name, read.why);
      if (read.name !== '') dropped.add(read.name);
    } else if (byName.has(read.name)) {
      withheld(read.name, 'the name is there twice; the first is kept');
    } else {
      items.push(read);
      byName.set(read.name, read);
    }
  }
  for (const name of byName.keys()) dropped.delete(name);
  return { items, byName, dropped };
}

function readItem(
  whole: Uint8Array,
  span: Span & { readonly kind: string },
  key: string,
  annotated: boolean,
): Item | { readonly name: string; readonly why: string } {
  if (span.kind !== 'object') return { name: '', why: 'it is not an object' };
  const bytes = whole.subarray(span.start, span.end);
  const members = membersOf(bytes, { start: 0, end: bytes.length });
  const name = stringOf(bytes, findMember(members, key));
  if (name === undefined) return { name: '', why: `it has no ${key}` };
  if (!annotated || Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(ANNOTATION) < 0) {
    return { name, bytes };
  }
  const schema = findMember(members, 'inputSchema');
  const compiled = schema === undefined ? paramHeaders(undefined) : paramHeaders(parseSpan(bytes, schema));
  if (compiled.kind === 'invalid') return { name, why: compiled.why };
  return compiled.headers.length === 0 ? { name, bytes } : { name, bytes, headers: compiled.headers };
}

/** An integer ≥ 0; anything else is stale at once (protocol.md Part 7 #26, GB-055). */
export function ttlOf(bytes: Uint8Array, members: readonly Member[]): number {
  const ttl = findMember(members, 'ttlMs');
  const value = ttl?.kind === 'number' ? Number(textOf(bytes, ttl)) : 0;
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** What belongs to the one request that made the list does not stay with it (protocol.md §2.10 last row). */
function keptMeta(meta: string): string | undefined {
  const whole = objectOf([meta]);
  const kept = membersWithout(whole, membersOf(whole, { start: 0, end: whole.length }), (k) => PER_REQUEST.has(k));
  return kept.length === 0 ? undefined : Buffer.from(kept).toString();
}
