// Which revisions a route serves, newest first (protocol.md Part 7 #6). server/discover, -32022 and the refusal of
// `initialize` must name the same ones.

import type { RouteSettings } from '@lockkeeper/protocol/config/settings';
import { isLegacyRevision, LEGACY_REVISIONS, MODERN_REVISIONS } from '@lockkeeper/protocol/mcp/revision';

export function servesLegacy(route: RouteSettings): boolean {
  return route.revisions.some(isLegacyRevision);
}

export function servedRevisions(route: RouteSettings): readonly string[] {
  return [...MODERN_REVISIONS, ...LEGACY_REVISIONS.filter((r) => route.revisions.includes(r))];
}

/** A client that asked for a legacy revision in a modern envelope must not be sent round in a circle. */
export function supportedFor(route: RouteSettings, requested: string): readonly string[] {
  return isLegacyRevision(requested) ? MODERN_REVISIONS : servedRevisions(route);
}
