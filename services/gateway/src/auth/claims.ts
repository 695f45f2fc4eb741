// From the claims of an issuer's token to what we go by (design §7, auth-security.md RS-20). Pure. A claim that is
// missing or of the wrong type is a refusal, never an empty identity (GB-119).

import type { IssuerSettings } from '@lockkeeper/protocol/config/settings';

export interface Identity {
  readonly subject: string;
  readonly tenant: string;
  readonly groups: readonly string[];
  readonly client: string | null;
  readonly audiences: readonly string[];
}

export type Mapped =
  | { readonly kind: 'identity'; readonly identity: Identity }
  | { readonly kind: 'invalid'; readonly why: string };

export type Claims = Readonly<Record<string, unknown>>;

const MAX_ID = 256;
const MAX_GROUPS = 1024;

export function mapClaims(claims: Claims, issuer: IssuerSettings): Mapped {
  const shape = tokenShape(claims);
  if (shape !== null) return invalid(shape);
  const subject = text(claimAt(claims, issuer.claims.subject));
  if (subject === null) return invalid('subject');
  const tenant = tenantOf(claims, issuer);
  if (tenant === null) return invalid('tenant');
  const client = text(claimAt(claims, issuer.claims.client)) ?? text(claims.azp);
  if (issuer.clients !== undefined && (client === null || !issuer.clients.includes(client))) return invalid('client');
  const audiences = strings(claims.aud);
  if (audiences.length === 0) return invalid('audience');
  const groups = strings(claimAt(claims, issuer.claims.groups)).slice(0, MAX_GROUPS);
  return { kind: 'identity', identity: { subject, tenant, groups, client, audiences } };
}

/** What only an ID token, a refresh token or a bound token carries (RS-14, RS-20, RS-22). */
function tokenShape(claims: Claims): string | null {
  if (claims.nonce !== undefined || claims.at_hash !== undefined || claims.c_hash !== undefined) return 'id-token';
  if (typeof claims.typ === 'string' && claims.typ.toLowerCase() !== 'bearer') return 'token-type';
  return claims.cnf === undefined ? null : 'sender-constrained';
}

/** Without the claim the issuer must name exactly one tenant (design §7). */
function tenantOf(claims: Claims, issuer: IssuerSettings): string | null {
  const value = claimAt(claims, issuer.claims.tenant);
  if (value === undefined) return issuer.tenants.length === 1 ? (issuer.tenants[0] ?? null) : null;
  return typeof value === 'string' && issuer.tenants.includes(value) ? value : null;
}

/** `realm_access.groups` is a path unless a claim has that very name (some are URLs with dots). */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const step of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Claims)[step];
  }
  return at;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID ? value : null;
}

function strings(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return Array.isArray(value) ? value.filter((v): v is string => typeof v === 'string' && v !== '') : [];
}

function invalid(why: string): Mapped {
  return { kind: 'invalid', why };
}
