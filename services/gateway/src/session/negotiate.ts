// Which revision a legacy client gets (protocol.md §3.5): the one it offers if this route serves it, else our latest
// that the route serves; 2026-07-28 in `initialize` therefore gets 2025-11-25. Pure.

import type { RouteSettings } from '@lockkeeper/protocol/config/settings';
import { isLegacyRevision, LEGACY_REVISIONS, type LegacyRevision } from '@lockkeeper/protocol/mcp/revision';

/** Newest first. */
export function servedRevisions(route: RouteSettings): LegacyRevision[] {
  return LEGACY_REVISIONS.filter((r) => route.revisions.includes(r));
}

/** Null: this route serves no legacy revision at all. */
export function negotiate(offered: string, route: RouteSettings): LegacyRevision | null {
  const served = servedRevisions(route);
  if (isLegacyRevision(offered) && served.includes(offered)) return offered;
  return served[0] ?? null;
}

/**
 * Of a request without a session (GB-008): what its header names, or 2025-03-26 when it has none, as the pages want
 * (2511/http). Null: a revision that is not served here.
 */
export function sessionlessRevision(header: string | undefined, route: RouteSettings): LegacyRevision | null {
  const served = servedRevisions(route);
  if (header === undefined) return served.includes('2025-03-26') ? '2025-03-26' : (served[0] ?? null);
  return isLegacyRevision(header) && served.includes(header) ? header : null;
}
