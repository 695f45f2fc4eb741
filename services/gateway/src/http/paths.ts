// Which paths exist (design §7): made from a snapshot once, then one exact look-up per request, so that a reload
// counts at once and no trick of spelling reaches past it (auth-security.md T-46). Everything else is a plain 404.

import type { RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import { type Place, placeOf, type SignIn, WELL_KNOWN } from '../auth/metadata.ts';

export type Target =
  | { readonly kind: 'mcp' | 'sse' | 'messages'; readonly place: Place }
  | { readonly kind: 'metadata'; readonly body: string };

const tables = new WeakMap<Snapshot, ReadonlyMap<string, Target>>();

export function findTarget(snapshot: Snapshot, path: string): Target | undefined {
  let table = tables.get(snapshot);
  if (table === undefined) {
    table = tableOf(snapshot);
    tables.set(snapshot, table);
  }
  return table.get(path);
}

function tableOf(snapshot: Snapshot): ReadonlyMap<string, Target> {
  const table = new Map<string, Target>();
  const documents: Target[] = [];
  for (const route of snapshot.routes) {
    const place = placeOf(snapshot, route);
    addTwice(table, route.path, { kind: 'mcp', place });
    const document = addDocument(table, place.mcp);
    if (document !== null) documents.push(document);
    if (!servesSse(route)) continue;
    const { path } = place.sse;
    table.set(path, { kind: 'sse', place });
    table.set(path.replace(/sse$/, 'messages'), { kind: 'messages', place });
    addDocument(table, place.sse);
  }
  // RS-2: at the root only where it cannot be the wrong one (GB-104).
  const [only] = documents;
  if (only !== undefined && snapshot.routes.length === 1) addTwice(table, WELL_KNOWN, only);
  return table;
}

/** Also where an ingress has stripped the path of publicBaseUrl. */
function addDocument(table: Map<string, Target>, { path, metadataUrl, metadata }: SignIn): Target | null {
  if (metadata === null) return null;
  const document: Target = { kind: 'metadata', body: metadata };
  addTwice(table, new URL(metadataUrl).pathname, document);
  addTwice(table, WELL_KNOWN + path, document);
  return document;
}

/** With and without one trailing slash, without a redirect that would lose body and token (GB-147). */
function addTwice(table: Map<string, Target>, path: string, target: Target): void {
  table.set(path, target);
  table.set(`${path}/`, target);
}

export function servesSse(route: RouteSettings): boolean {
  return route.sse && route.revisions.includes('2024-11-05');
}
