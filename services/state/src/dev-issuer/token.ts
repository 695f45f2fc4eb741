// A token that a given configuration accepts: issuer, audience, tenant and the names of claims come from it. Signed with
// node:crypto; verification, which is where mistakes are dangerous, is the gateway's and uses a library.

import { type KeyObject, randomUUID, sign } from 'node:crypto';
import type { IssuerSettings, Snapshot } from '@lockkeeper/protocol/config/settings';

export interface TokenWish {
  readonly subject: string;
  readonly groups: readonly string[];
  /** Path of a route: `/acme/mcp`. */
  readonly route: string;
  /** Default: the route's. */
  readonly tenant?: string;
  readonly client: string;
  readonly ttlSeconds: number;
}

export interface TokenDeps {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** Whether this issuer's key set has our key in it. */
  readonly isOurs: (issuer: IssuerSettings) => boolean;
  readonly nowSeconds: number;
}

/** Throws an Error whose message is for the operator. */
export function devToken(snapshot: Snapshot, wish: TokenWish, deps: TokenDeps): string {
  const route = snapshot.routes.find(({ path }) => path === wish.route);
  if (route === undefined) {
    const known = snapshot.routes.map(({ path }) => path).join(', ');
    throw new Error(`there is no route ${wish.route}; routes: ${known}`);
  }
  const tenant = wish.tenant ?? route.tenant;
  const issuer = issuerFor(snapshot, tenant, deps);
  const { claims } = issuer;
  return signed(deps, {
    iss: issuer.issuer,
    aud: issuer.audience ?? `${snapshot.publicBaseUrl}${route.path}`,
    iat: deps.nowSeconds,
    exp: deps.nowSeconds + wish.ttlSeconds,
    jti: randomUUID(),
    sub: wish.subject,
    // A name with dots is taken as it stands before it is taken for a path.
    [claims.subject]: wish.subject,
    [claims.groups]: wish.groups,
    [claims.client]: wish.client,
    ...(claims.tenant === '' ? {} : { [claims.tenant]: tenant }),
    ...(issuer.scopes === undefined ? {} : { scope: issuer.scopes.join(' ') }),
  });
}

function issuerFor(snapshot: Snapshot, tenant: string, { isOurs }: TokenDeps): IssuerSettings {
  if (snapshot.auth.mode === 'open') throw new Error('auth.mode is open: no token is needed');
  const ours = snapshot.auth.issuers.filter(isOurs);
  if (ours.length === 0) {
    throw new Error('no issuer has the development key in its jwksFile: point its jwksFile to the file named above');
  }
  const issuer = ours.find(({ tenants }) => tenants.includes(tenant));
  if (issuer === undefined)
    throw new Error(`the development issuer may not assert tenant ${tenant}: add it to its tenants`);
  if (!issuer.algorithms.includes('ES256'))
    throw new Error('the development issuer signs with ES256: add it to algorithms');
  return issuer;
}

function signed({ kid, privateKey }: TokenDeps, claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'ES256', typ: 'at+jwt', kid })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}
