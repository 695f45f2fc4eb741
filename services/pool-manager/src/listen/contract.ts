// The words of a node's listens (design §4 `listen`, protocol.md §5.1, §5.2). One gateway's listen is an outlet; what
// one owner's processes say is a source; what is heard of one process is a feed. The union of what outlets want is
// asked of every feed.

import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Change } from '../raise/contract.ts';

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

export interface Wanted {
  readonly lists: ReadonlySet<ListKind>;
  readonly uris: ReadonlySet<string>;
}

export const NOTHING: Wanted = { lists: new Set(), uris: new Set() };

export interface Feed {
  /** Has the process tell what is wanted; resolves with what of it will be told. Later calls follow earlier ones. */
  want(wanted: Wanted): Promise<Wanted>;
  /** What the last `want` came to. */
  readonly honoured: Wanted;
  /** The process has not said yes or no to all of it: it is busy, or on its way out. */
  readonly silent: boolean;
  /** The process has gone, or nobody listens. */
  end(): void;
}

export interface FeedListener {
  change(change: Change): void;
  /** Something may have been missed: the lists are to be compared, the URIs called changed. */
  gap(): void;
}

export function listChanged(kind: ListKind): Change {
  return { method: `notifications/${kind}/list_changed` };
}

export function updated(uri: string): Change {
  return { method: 'notifications/resources/updated', uri };
}

/** Undefined: no change of a list. */
export function listOf(change: Change): ListKind | undefined {
  return LIST_KINDS.find((kind) => change.method === `notifications/${kind}/list_changed`);
}

/** Of what is wanted, what a server with these capabilities can tell of. */
export function declaredOf(wanted: Wanted, capabilities: ServerCapabilities): Wanted {
  const lists = new Set([...wanted.lists].filter((kind) => capabilities[kind]?.listChanged === true));
  return { lists, uris: capabilities.resources?.subscribe === true ? wanted.uris : NOTHING.uris };
}

export function sameWanted(a: Wanted, b: Wanted): boolean {
  return sameSet(a.lists, b.lists) && sameSet(a.uris, b.uris);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one));
}
