// `x-mcp-header` annotations and the Mcp-Param-* headers they stand for (protocol.md §2.3). Pure: a schema in, the
// list of headers or the reason why the tool's definition is invalid out.

import { applyEdits, type Edit } from '../json/compose.ts';
import { findMember, itemsOf, type Member, membersOf, type Span } from '../json/scan.ts';
import { decodeHeaderValue, encodeHeaderValue } from './headers.ts';

const KEYWORD = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MAX_DEPTH = 64;

export interface ParamHeader {
  /** Lower-case, without `mcp-param-`. */
  readonly header: string;
  /** Chain of property names from the arguments' root. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

export type ParamHeaders =
  | { readonly kind: 'ok'; readonly headers: readonly ParamHeader[] }
  | { readonly kind: 'invalid'; readonly why: string };

type Obj = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Obj {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Annotations reachable through `properties` alone; one anywhere else makes the definition invalid. */
export function paramHeaders(inputSchema: unknown): ParamHeaders {
  const headers: ParamHeader[] = [];
  const why = isObject(inputSchema) ? collect(inputSchema, [], headers) : null;
  if (why !== null) return { kind: 'invalid', why };
  const names = new Set<string>();
  for (const h of headers) {
    if (names.has(h.header)) return { kind: 'invalid', why: `header name ${h.header} is used twice` };
    names.add(h.header);
  }
  return { kind: 'ok', headers };
}

function collect(schema: Obj, path: readonly string[], out: ParamHeader[]): string | null {
  if (path.length > MAX_DEPTH) return 'schema is nested too deeply';
  if (Object.hasOwn(schema, KEYWORD)) {
    const found = annotation(schema, path);
    if (typeof found === 'string') return found;
    out.push(found);
  }
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties' && isObject(value)) {
      for (const [name, sub] of Object.entries(value)) {
        if (!isObject(sub)) continue;
        const why = collect(sub, [...path, name], out);
        if (why !== null) return why;
      }
    } else if (!DATA_KEYWORDS.has(key) && holdsAnnotation(value, 0)) {
      return `x-mcp-header below "${key}" cannot be reached through properties`;
    }
  }
  return null;
}

/** Keywords whose value is data, not a schema: an `x-mcp-header` in there is somebody's example. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples', KEYWORD]);

function annotation(schema: Obj, path: readonly string[]): ParamHeader | string {
  const name = schema[KEYWORD];
  const { type } = schema;
  if (path.length === 0) return 'x-mcp-header on the schema root';
  if (typeof name !== 'string' || !TOKEN.test(name)) return 'x-mcp-header must be a non-empty header token';
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
    return `x-mcp-header on ${path.join('.')}: type must be string, integer or boolean`;
  }
  return { header: name.toLowerCase(), path, type };
}

function holdsAnnotation(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.some((v) => holdsAnnotation(v, depth + 1));
  if (!isObject(value)) return false;
  if (Object.hasOwn(value, KEYWORD)) return true;
  return Object.entries(value).some(([key, v]) => {
    if (DATA_KEYWORDS.has(key)) return false;
    // Below `properties` the keys are the tool's own names, not keywords.
    if (key === 'properties' && isObject(v)) return Object.values(v).some((sub) => holdsAnnotation(sub, depth + 1));
    return holdsAnnotation(v, depth + 1);
  });
}

function at(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Null when the sent headers (lower-case, without prefix) mirror the arguments, else what is wrong. */
export function checkParamHeaders(
  spec: readonly ParamHeader[],
  args: unknown,
  sent: ReadonlyMap<string, string>,
): string | null {
  for (const h of spec) {
    const value = at(args, h.path);
    const raw = sent.get(h.header);
    const label = `Mcp-Param-${h.header}`;
    if (value === undefined || value === null) {
      if (raw !== undefined) return `${label} was sent, but the argument ${h.path.join('.')} is absent`;
      continue;
    }
    if (raw === undefined) return `${label} is missing; it must mirror the argument ${h.path.join('.')}`;
    const text = decodeHeaderValue(raw);
    if (text === null) return `${label} is not valid base64`;
    if (!mirrors(h, value, text)) return `${label} does not match the argument ${h.path.join('.')}`;
  }
  return null;
}

function mirrors(h: ParamHeader, value: unknown, text: string): boolean {
  if (typeof value === 'number') return text.trim() !== '' && Number(text) === value;
  if (typeof value === 'boolean') return text === String(value);
  if (typeof value === 'string') return text === value;
  // A value of another shape than the schema says is the tool's to refuse; no header can mirror it.
  return h.type === 'string' && text === JSON.stringify(value);
}

/** The headers a client owes for these arguments: full names, encoded values. */
export function makeParamHeaders(spec: readonly ParamHeader[], args: unknown): Map<string, string> {
  const out = new Map<string, string>();
  for (const h of spec) {
    const value = at(args, h.path);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      out.set(`mcp-param-${h.header}`, encodeHeaderValue(String(value)));
    }
  }
  return out;
}

/** One raw tool object without any `x-mcp-header` in its inputSchema; the rest stays byte for byte. */
export function stripParamHeaders(tool: Uint8Array): Uint8Array {
  const schema = findMember(membersOf(tool, { start: 0, end: tool.length }), 'inputSchema');
  if (schema === undefined) return tool;
  const edits: Edit[] = [];
  strip(tool, schema, schema.kind, 0, edits);
  return applyEdits(tool, edits);
}

function strip(bytes: Uint8Array, span: Span, kind: string, depth: number, edits: Edit[]): void {
  if (depth > MAX_DEPTH) return;
  if (kind === 'array') {
    for (const item of itemsOf(bytes, span)) strip(bytes, item, item.kind, depth + 1, edits);
  }
  if (kind !== 'object') return;
  const members = membersOf(bytes, span);
  members.forEach((m, i) => {
    if (m.key === KEYWORD) edits.push(removal(members, i));
    else if (m.key === 'properties' && m.kind === 'object') stripProperties(bytes, m, depth + 1, edits);
    else if (!DATA_KEYWORDS.has(m.key)) strip(bytes, m, m.kind, depth + 1, edits);
  });
}

/** Below `properties` the keys are the tool's own names: one may well be called `default` or `x-mcp-header`. */
function stripProperties(bytes: Uint8Array, span: Span, depth: number, edits: Edit[]): void {
  for (const m of membersOf(bytes, span)) strip(bytes, m, m.kind, depth + 1, edits);
}

/** Takes a member out together with one of the commas beside it. */
function removal(members: readonly Member[], i: number): Edit {
  const m = members[i]!;
  const next = members[i + 1];
  if (next !== undefined) return { start: m.keyStart, end: next.keyStart, text: '' };
  const previous = members[i - 1];
  return { start: previous === undefined ? m.keyStart : previous.end, end: m.end, text: '' };
}
