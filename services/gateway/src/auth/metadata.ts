// The protected resource metadata of a route (auth-security.md RS-1…RS-5, RFC 9728). Computed from configuration
// alone: never from Host or X-Forwarded-*, the same for every caller, and it says nothing of what is behind. Its HTTP+SSE
// URL has a document of its own, since clients compare `resource` with the URL that they were given (GB-102).

import type { IssuerSettings, RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';

export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** RS-1: lower-case host, no default port, no query, no trailing slash. */
export function resourceOf(publicBaseUrl: string, path: string): string {
  const base = new URL(publicBaseUrl);
  return base.origin + base.pathname.replace(/\/+$/, '') + path;
}

/** The path-inserted form (RS-2): every 401 of the endpoint names exactly this URL (GB-101). */
export function metadataUrlOf(publicBaseUrl: string, path: string): string {
  const resource = new URL(resourceOf(publicBaseUrl, path));
  return resource.origin + WELL_KNOWN + resource.pathname;
}

/** Where HTTP+SSE clients begin (protocol.md §3.7). */
export function ssePathOf(route: RouteSettings): string {
  return `${route.path.slice(0, -'/mcp'.length)}/sse`;
}

/** Issuers that may speak for this route's tenant; the first is the one we name (RS-3: clients read only one). */
export function issuersOf(snapshot: Snapshot, route: RouteSettings): readonly IssuerSettings[] {
  if (snapshot.auth.mode !== 'jwt') return [];
  return snapshot.auth.issuers.filter((issuer) => issuer.tenants.includes(route.tenant));
}

function metadataOf(publicBaseUrl: string, path: string, issuer: IssuerSettings): string {
  const scopes = issuer.scopes ?? [];
  return JSON.stringify({
    resource: resourceOf(publicBaseUrl, path),
    authorization_servers: [issuer.issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: `Lockkeeper ${path}`,
  });
}

/** What a client that knows one URL only is told of where to sign in. */
export interface SignIn {
  readonly path: string;
  readonly metadataUrl: string;
  /** Null in open mode, and where no issuer may speak for the tenant: there is nothing to sign in to. */
  readonly metadata: string | null;
}

/** One route as seen from the network: everything of it that configuration alone decides, made once per snapshot. */
export interface Place {
  readonly route: RouteSettings;
  /** The one audience of its tokens, whichever URL a client began at (RS-1, RS-5). */
  readonly resource: string;
  readonly mcp: SignIn;
  readonly sse: SignIn;
  readonly scopes: readonly string[];
}

export function placeOf(snapshot: Snapshot, route: RouteSettings): Place {
  const [issuer] = issuersOf(snapshot, route);
  const { publicBaseUrl } = snapshot;
  const signIn = (path: string): SignIn => ({
    path,
    metadataUrl: metadataUrlOf(publicBaseUrl, path),
    metadata: issuer === undefined ? null : metadataOf(publicBaseUrl, path, issuer),
  });
  return {
    route,
    resource: resourceOf(publicBaseUrl, route.path),
    mcp: signIn(route.path),
    sse: signIn(ssePathOf(route)),
    scopes: issuer?.scopes ?? [],
  };
}
