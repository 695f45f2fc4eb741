// All pages of one list, put together into one (GB-129, GB-130, GB-132): items as raw bytes, the shortest ttl, the
// narrowest scope. Pure: it is given pages and says which cursor comes next.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { type Caching, cachingMembers, cachingOf, isCaching, narrowest } from './caching.ts';
import { isEnvelope, keep, vendorMeta, withMembers } from './split.ts';
import { needsStripping, strippedTool } from './tools.ts';

interface Kind {
  readonly items: string;
  /** The member that names an item, by which repeats are found. */
  readonly key: string;
}

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['tools/list', { items: 'tools', key: 'name' }],
  ['prompts/list', { items: 'prompts', key: 'name' }],
  ['resources/list', { items: 'resources', key: 'uri' }],
  ['resources/templates/list', { items: 'resourceTemplates', key: 'uriTemplate' }],
]);

const MAX_PAGES = 1000;

export interface PagesOptions {
  readonly method: string;
  /** For a page that says nothing of caching. */
  readonly caching: Caching;
  /** Legacy tools lose what modern callers must not see. */
  readonly legacy: boolean;
  readonly maxBytes: number;
}

export type Step =
  /** `cursor`: raw JSON text of the string. */
  | { readonly kind: 'next'; readonly cursor: string }
  /** `cut`: why the rest was not fetched; null when the list is whole. */
  | { readonly kind: 'done'; readonly cut: string | null }
  | { readonly kind: 'bad'; readonly why: string }
  | { readonly kind: 'too-large' };

export class Pages {
  private readonly o: PagesOptions;
  private readonly kind: Kind;
  private readonly parts: (Uint8Array | string)[] = [];
  private readonly names = new Set<string>();
  private readonly cursors = new Set<string>();
  private rest: Uint8Array = new Uint8Array(0);
  private vendor: string | undefined;
  private caching: Caching | null = null;
  private pages = 0;
  private bytes = 0;

  constructor(options: PagesOptions) {
    this.o = options;
    this.kind = KINDS.get(options.method)!;
  }

  add(line: Uint8Array, members: readonly Member[]): Step {
    const list = findMember(members, this.kind.items);
    if (list?.kind !== 'array') return { kind: 'bad', why: `the list has no "${this.kind.items}"` };
    const own = cachingOf(line, members, this.o.caching);
    this.caching = this.caching === null ? own : narrowest(this.caching, own);
    if (this.pages++ === 0) this.first(line, members);
    const next = findMember(members, 'nextCursor');
    const fresh = this.take(line, list, next?.kind === 'string');
    if (this.bytes > this.o.maxBytes) return { kind: 'too-large' };
    return this.step(line, next, fresh);
  }

  /** Result members of the whole list, without `_meta` and `resultType`. */
  members(): Uint8Array {
    const list = concat([`"${this.kind.items}":[`, ...this.parts, ']']);
    const rest = this.rest.length === 0 ? list : concat([list, ',', this.rest]);
    return withMembers(rest, cachingMembers(this.caching ?? this.o.caching));
  }

  meta(): string | undefined {
    return this.vendor;
  }

  private first(line: Uint8Array, members: readonly Member[]): void {
    const ours = (key: string) => key === this.kind.items || key === 'nextCursor' || isCaching(key) || isEnvelope(key);
    // A copy: the page's line must not be held by a few bytes of it.
    this.rest = copyOf(keep(line, members, ours));
    this.vendor = vendorMeta(line, members);
  }

  /** How many items of this page were not there before; null when the page was empty. */
  private take(line: Uint8Array, list: Member, more: boolean): number | null {
    const strip =
      this.o.legacy && this.o.method === 'tools/list' && needsStripping(line.subarray(list.start, list.end));
    if (this.pages === 1 && !more && !strip) {
      this.push(line.subarray(list.start + 1, list.end - 1));
      return null;
    }
    const items = itemsOf(line, list);
    if (items.length === 0) return null;
    let fresh = 0;
    for (const item of items) {
      if (item.kind === 'object' && this.repeated(line, item)) continue;
      fresh++;
      const raw = line.subarray(item.start, item.end);
      if (this.parts.length > 0) this.parts.push(',');
      this.push(strip ? strippedTool(raw) : raw);
    }
    return fresh;
  }

  private push(raw: Uint8Array): void {
    this.bytes += raw.length;
    this.parts.push(raw);
  }

  private repeated(line: Uint8Array, item: { start: number; end: number }): boolean {
    const name = stringOf(line, findMember(membersOf(line, item), this.kind.key));
    if (name === undefined) return false;
    if (this.pages > 1 && this.names.has(name)) return true;
    this.names.add(name);
    return false;
  }

  /** Only the absence of a cursor ends a list: `""` is one (protocol.md §1.5). `null` is what some servers write for none. */
  private step(line: Uint8Array, next: Member | undefined, fresh: number | null): Step {
    if (next === undefined || (next.kind === 'literal' && textOf(line, next) === 'null'))
      return { kind: 'done', cut: null };
    const value = stringOf(line, next);
    if (value === undefined) return { kind: 'done', cut: 'nextCursor is not a string' };
    if (this.cursors.has(value)) return { kind: 'done', cut: 'a cursor came twice' };
    if (fresh === 0) return { kind: 'done', cut: 'a page held nothing new' };
    if (this.pages >= MAX_PAGES) return { kind: 'done', cut: `more than ${MAX_PAGES} pages` };
    this.cursors.add(value);
    return { kind: 'next', cursor: textOf(line, next) };
  }
}
