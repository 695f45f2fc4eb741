// The YAML text as data, with the place of each value and key in it. Knows nothing of what the data means.

import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml';
import type { Path } from './faults.ts';

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface SourceDocument {
  /** As written: references are still text. */
  readonly data: unknown;
  has(path: Path): boolean;
  /** Of the value; of the nearest value around it where there is none. */
  placeOf(path: Path, at: 'value' | 'key'): Place;
}

export type Parsed =
  | { readonly kind: 'document'; readonly document: SourceDocument }
  | { readonly kind: 'faults'; readonly faults: readonly (Place & { readonly words: string })[] };

/** Enough for honest anchors, too little for a file that grows a thousandfold. */
const MAX_ALIASES = 100;

export function parseSource(text: string): Parsed {
  const lines = new LineCounter();
  // Pretty errors quote the line, which may hold a secret.
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    stringKeys: false,
  });
  const fault = (offset: number, words: string) => ({ ...placeAt(lines, offset), words });
  const first = 'empty' in documents ? undefined : documents[0];
  if (first === undefined) return { kind: 'faults', faults: [fault(0, 'the file is empty')] };
  const second = 'empty' in documents ? undefined : documents[1];
  if (second !== undefined) {
    return { kind: 'faults', faults: [fault(second.range?.[0] ?? 0, 'the file holds a second document; keep one')] };
  }
  const problems = [...first.errors, ...first.warnings];
  if (problems.length > 0) {
    return { kind: 'faults', faults: problems.map((p) => fault(p.pos[0], wordsFor(p.code, p.message))) };
  }
  if (!isMap(first.contents)) {
    return { kind: 'faults', faults: [fault(first.contents?.range?.[0] ?? 0, 'the file must be a map of settings')] };
  }
  try {
    return { kind: 'document', document: createDocument(first, lines) };
  } catch (error) {
    const many = error instanceof Error && error.message.startsWith('Excessive');
    const words = many ? 'the file uses too many aliases: write the values out' : 'an alias names no anchor before it';
    return { kind: 'faults', faults: [fault(0, words)] };
  }
}

function wordsFor(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key stands here twice; keep one';
  if (code === 'TAG_RESOLVE_FAILED')
    return 'a tag that means nothing here: take it out, or put quotes around the value';
  const quoted = /^(.{0,200}?)(?::? ["`'].*)?$/s.exec(message)?.[1] ?? message;
  return `not valid YAML: ${quoted.replace(/\.$/, '')}`;
}

function placeAt(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function createDocument(document: Document.Parsed, lines: LineCounter): SourceDocument {
  const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });

  function walk(path: Path): { node: Node | null; key: Node | null; reached: number } {
    let node: Node | null = document.contents;
    let key: Node | null = null;
    for (const [i, step] of path.entries()) {
      const next = childOf(document, node, step);
      if (next === null) return { node, key, reached: i };
      node = next.value ?? next.key;
      key = next.key ?? next.value;
    }
    return { node, key, reached: path.length };
  }

  return {
    data,
    has: (path) => walk(path).reached === path.length,
    placeOf(path, at) {
      const { node, key } = walk(path);
      const found = at === 'key' ? (key ?? node) : (node ?? key);
      return placeAt(lines, found?.range?.[0] ?? 0);
    },
  };
}

function childOf(
  document: Document.Parsed,
  node: Node | null,
  step: string | number,
): { key: Node | null; value: Node | null } | null {
  const target = isAlias(node) ? node.resolve(document) : node;
  if (isSeq(target) && typeof step === 'number') {
    const value = target.items[step];
    return value === undefined ? null : { key: null, value: value as Node };
  }
  if (!isMap(target)) return null;
  const pair = target.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair === undefined ? null : { key: pair.key as Node, value: pair.value as Node | null };
}
