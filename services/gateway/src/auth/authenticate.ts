// Who calls, from headers only, before anything of the body is read, on every verb (auth-security.md RS-9). The same
// person gets the same `Caller` object per route while the token is remembered, so that others may key on it.

import type { AuthSettings, IssuerSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Caller } from '../exchange.ts';
import type { Log } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { readBearer } from './bearer.ts';
import type { Turned } from './challenge.ts';
import { createKeys, type Keys } from './keys.ts';
import type { Place } from './metadata.ts';
import { createVerifier, type Verification, type Verified, type Verifier } from './verify.ts';

export type Authentication =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'turned'; readonly turned: Turned; readonly why: string; readonly retryAfterMs: number }
  /** A good token of another tenant: the route is as unknown to it as any that does not exist. */
  | { readonly kind: 'foreign' };

type JwtSettings = Extract<AuthSettings, { mode: 'jwt' }>;

export interface Head {
  readonly rawHeaders: readonly string[];
  /** The query string without `?`. */
  readonly query: string;
  /** Whatever stands for the connection: it mostly brings the same token again. */
  readonly connection?: object | undefined;
}

export interface Authenticator {
  authenticate(snapshot: Snapshot, place: Place, head: Head): Authentication | Promise<Authentication>;
  /** Lets go of who has not called for a while. */
  forget(): void;
}

export interface AuthenticatorDeps {
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const verifierOf = verifiers(deps);
  let inUse: Verifier | undefined;
  const strangers = memo(anonymous);
  const perVerified = new WeakMap<Verified, (place: Place) => Authentication>();

  function settle(verification: Verification, place: Place): Authentication {
    if (verification.kind === 'unreadable') return turned('keys-unreadable', 'keys', verification.retryAfterMs);
    if (verification.kind === 'invalid') return turned('bad-token', verification.why);
    const { verified } = verification;
    let known = perVerified.get(verified);
    if (known === undefined) {
      known = memo((at: Place) => admit(verified, at));
      perVerified.set(verified, known);
    }
    return known(place);
  }

  return {
    authenticate(snapshot, place, head) {
      if (snapshot.auth.mode === 'open') return strangers(place);
      const bearer = readBearer(head.rawHeaders, head.query, head.connection);
      if (bearer.kind === 'none') return turned('no-token', 'none');
      if (bearer.kind === 'ambiguous') return turned('bad-credentials', bearer.why);
      if (bearer.kind === 'malformed') return turned('bad-token', bearer.why);
      inUse = verifierOf(snapshot.auth);
      const verification = inUse.verify(bearer.token, head.connection);
      if (verification instanceof Promise) return verification.then((v) => settle(v, place));
      return settle(verification, place);
    },
    forget: () => inUse?.forget(),
  };
}

/** One verifier per loaded `auth` section; keys outlive a reload that leaves their source alone. */
function verifiers(deps: AuthenticatorDeps): (auth: JwtSettings) => Verifier {
  let keys = new Map<string, Keys>();
  return memo((auth: JwtSettings) => {
    const next = new Map<string, Keys>();
    for (const issuer of auth.issuers) {
      const key = keyOf(issuer);
      next.set(key, keys.get(key) ?? createKeys(issuer, deps));
    }
    keys = next;
    const keysOf = (issuer: IssuerSettings): Keys => next.get(keyOf(issuer)) ?? createKeys(issuer, deps);
    return createVerifier({ issuers: auth.issuers, keysOf, now: deps.now, metrics: deps.metrics });
  });
}

function keyOf(issuer: IssuerSettings): string {
  return JSON.stringify([issuer.issuer, issuer.jwks]);
}

/** Remembers one answer per object, as long as the object lives (a snapshot's parts die with it). */
function memo<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let known = made.get(key);
    if (known === undefined) {
      known = { value: make(key) };
      made.set(key, known);
    }
    return known.value;
  };
}

/** The audience is the called route's own URL unless the issuer has one of its own (design §7, RS-5: no variants). */
function admit(verified: Verified, { route, resource }: Place): Authentication {
  const { issuer } = verified;
  if (!issuer.tenants.includes(route.tenant)) return turned('bad-token', 'issuer-tenant');
  if (!verified.audiences.includes(issuer.audience ?? resource)) return turned('bad-token', 'audience');
  if (verified.tenant !== route.tenant) return { kind: 'foreign' };
  const { tenant, subject, client } = verified;
  const principal = { tenant, issuer: issuer.issuer, subject, client };
  return { kind: 'caller', caller: { principal, groups: verified.groups, expiresAt: verified.expiresAt } };
}

/** Open mode: everybody is one person of the route's tenant (design §7). */
function anonymous({ route }: Place): Authentication {
  const principal = { tenant: route.tenant, issuer: 'lockkeeper:open', subject: 'anonymous', client: 'anonymous' };
  return { kind: 'caller', caller: { principal, groups: [], expiresAt: null } };
}

function turned(kind: Turned, why: string, retryAfterMs = 0): Authentication {
  return { kind: 'turned', turned: kind, why, retryAfterMs };
}
