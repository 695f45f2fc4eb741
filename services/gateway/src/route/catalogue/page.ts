// Pages of a list over one or more servers (protocol.md §5.7 "Cursor", P-16, T-33). Filtering comes before paging, so
// a page's size tells nothing of what is hidden. The cursor is sealed and names a place in one server's list by
// version, so it works on every replica that can come by the same version; anything else is a bad cursor.

import { createHash } from 'node:crypto';
import type { Exchange } from '../../exchange.ts';
import { viewText } from '../../policy/decide.ts';
import type { SealContext, SealRing } from '../../seal/ring.ts';
import type { Sight } from '../sight.ts';
import type { ListKind } from './items.ts';

export interface Position {
  readonly server: string;
  /** '' at the start of a server's list: any version will do. */
  readonly version: string;
  readonly offset: number;
}

/** One server's items in order, as they will be shown; null where the caller may not see one. */
export interface Shelf {
  readonly server: string;
  readonly version: string;
  readonly count: number;
  item(index: number): Uint8Array | null;
}

export interface Page {
  readonly items: readonly Uint8Array[];
  readonly next: Position | null;
}

const PAGE_BYTES = 1024 * 1024;
const CURSOR_TTL_MS = 60 * 60 * 1000;

/** `shelves[0]` starts at `offset`. One item always fits, however large. */
export function cutPage(shelves: readonly Shelf[], offset: number, pageSize: number): Page {
  const items: Uint8Array[] = [];
  let bytes = 0;
  let start = offset;
  for (const shelf of shelves) {
    for (let i = start; i < shelf.count; i++) {
      const item = shelf.item(i);
      if (item === null) continue;
      const full = items.length >= pageSize || bytes + item.length > PAGE_BYTES;
      if (full && items.length > 0) {
        return { items, next: { server: shelf.server, version: i === 0 ? '' : shelf.version, offset: i } };
      }
      items.push(item);
      bytes += item.length;
    }
    start = 0;
  }
  return { items, next: null };
}

interface Content extends Position {
  readonly who: string;
  readonly view: string;
}

export function sealCursor(ring: SealRing, sight: Sight, kind: ListKind, position: Position): string | null {
  const content: Content = { ...position, ...boundTo(sight) };
  return ring.seal(`cursor/${kind}`, content, contextOf(sight.exchange), CURSOR_TTL_MS);
}

/** Null for whatever is not a cursor of this list, route, person and policy view. */
export function openCursor(ring: SealRing, sight: Sight, kind: ListKind, text: string): Position | null {
  const content = ring.open(`cursor/${kind}`, text, contextOf(sight.exchange)) as Content | null;
  if (content === null) return null;
  const { who, view, ...position } = content;
  const bound = boundTo(sight);
  return who === bound.who && view === bound.view ? position : null;
}

function contextOf(exchange: Exchange): SealContext {
  return { tenant: exchange.route.tenant, route: exchange.route.path };
}

function boundTo(sight: Sight): { who: string; view: string } {
  const { snapshot, route, caller } = sight.exchange;
  const { issuer, subject, client } = caller.principal;
  const names = sight.servers.map((s) => s.name);
  const text = viewText(snapshot, { tenant: route.tenant, groups: caller.groups }, names);
  const view = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return { who: JSON.stringify([issuer, subject, client]), view };
}
