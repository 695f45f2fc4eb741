// The table of an aggregate: a server's items under the names they have there. Made once per list. Names are resolved
// by looking them up here, never by taking them apart (protocol.md §5.7); a name's beginning only says whose table
// to look into. Of two items with one name the first is kept, as in the server's own list.

import { aggregateName, suffixUri } from '@lockkeeper/protocol/mcp/names';
import type { Item, List, ListKind } from '../catalogue/items.ts';
import { rewriteItem } from './rewrite.ts';

export interface Exposed {
  readonly item: Item;
  readonly alias: string;
  readonly bytes: Uint8Array;
}

export interface Table {
  readonly rows: readonly Exposed[];
  readonly byAlias: ReadonlyMap<string, Exposed>;
}

const made = new WeakMap<List, Table>();

export function tableOf(list: List, server: string): Table {
  const known = made.get(list);
  if (known !== undefined) return known;
  const rows: Exposed[] = [];
  const byAlias = new Map<string, Exposed>();
  for (const item of list.items) {
    const alias = aliasOf(list.kind, server, item.name);
    // An empty name cannot be told from its server's prefix and no model API takes it (GB-124).
    if (item.name === '' || byAlias.has(alias)) continue;
    const row = { item, alias, bytes: rewriteItem(list.kind, item, server, alias) };
    rows.push(row);
    byAlias.set(alias, row);
  }
  const table = { rows, byAlias };
  made.set(list, table);
  return table;
}

function aliasOf(kind: ListKind, server: string, name: string): string {
  return kind === 'tools' || kind === 'prompts' ? aggregateName(server, name) : suffixUri(name, server);
}
