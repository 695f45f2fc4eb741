// The protected resource metadata of a route (auth-security.md RS-1…RS-5, RFC 9728). Computed from configuration
// alone: never from Host or X-Forwarded-*, the same for every caller, and it says nothing of what is behind.

import type { IssuerSettings, RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';

export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** RS-1: lower-case host, no default port, no query, no trailing slash. */
export function resourceOf(publicBaseUrl: string, route: RouteSettings): string {
  const base = new URL(publicBaseUrl);
  return base.origin + base.pathname.replace(/\/+$/, '') + route.path;
}

/** The path-inserted form (RS-2): every 401 of the route names exactly this URL (GB-101). */
export function metadataUrlOf(publicBaseUrl: string, route: RouteSettings): string {
  const resource = new URL(resourceOf(publicBaseUrl, route));
  return resource.origin + WELL_KNOWN + resource.pathname;
}

/** Issuers that may speak for this route's tenant; the first is the one we name (RS-3: clients read only one). */
export function issuersOf(snapshot: Snapshot, route: RouteSettings): readonly IssuerSettings[] {
  if (snapshot.auth.mode !== 'jwt') return [];
  return snapshot.auth.issuers.filter((issuer) => issuer.tenants.includes(route.tenant));
}

export function metadataOf(publicBaseUrl: string, route: RouteSettings, issuer: IssuerSettings): string {
  const scopes = issuer.scopes ?? [];
  return JSON.stringify({
    resource: resourceOf(publicBaseUrl, route),
    authorization_servers: [issuer.issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: `Lockkeeper ${route.path}`,
  });
}

/** One route as seen from the network: everything of it that configuration alone decides, made once per snapshot. */
export interface Place {
  readonly route: RouteSettings;
  readonly resource: string;
  readonly metadataUrl: string;
  /** Null in open mode, and where no issuer may speak for the tenant: there is nothing to sign in to. */
  readonly metadata: string | null;
  readonly scopes: readonly string[];
}

export function placeOf(snapshot: Snapshot, route: RouteSettings): Place {
  const [issuer] = issuersOf(snapshot, route);
  return {
    route,
    resource: resourceOf(snapshot.publicBaseUrl, route),
    metadataUrl: metadataUrlOf(snapshot.publicBaseUrl, route),
    metadata: issuer === undefined ? null : metadataOf(snapshot.publicBaseUrl, route, issuer),
    scopes: issuer?.scopes ?? [],
  };
}
