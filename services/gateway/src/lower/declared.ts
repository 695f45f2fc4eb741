// The capabilities a caller declares, from their JSON text. Clients send the same text with every request, so its
// value is made once and is the same frozen object each time: others may key on it. The texts kept are few and short.

import { parseSpan, type Span, textOf } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';

export type Declared =
  | { readonly kind: 'capabilities'; readonly capabilities: ClientCapabilities }
  /** A capability we know is there and is no object. */
  | { readonly kind: 'malformed'; readonly key: string };

const KNOWN_KEYS = ['roots', 'sampling', 'elicitation', 'tasks', 'extensions', 'experimental'] as const;
const MAX_KEPT = 256;
const MAX_TEXT = 4096;
const kept = new Map<string, Declared>();

/** `span` is an object. */
export function readDeclared(bytes: Uint8Array, span: Span): Declared {
  if (span.end - span.start > MAX_TEXT) return make(parseSpan(bytes, span) as Record<string, unknown>);
  const text = textOf(bytes, span);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const made = make(JSON.parse(text) as Record<string, unknown>);
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, made);
  return made;
}

function make(value: Record<string, unknown>): Declared {
  for (const key of KNOWN_KEYS) {
    if (Object.hasOwn(value, key) && !isObject(value[key])) return { kind: 'malformed', key };
  }
  return { kind: 'capabilities', capabilities: freeze(value) as ClientCapabilities };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function freeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) freeze(inner);
    Object.freeze(value);
  }
  return value;
}
