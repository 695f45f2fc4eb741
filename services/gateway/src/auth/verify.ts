// Verifies an issuer's JWT with a closed set of options (auth-security.md RS-13 as adapted by RS-20 and design §7) and
// remembers a good one for at most a minute (RS-16, RS-17). Says who it is; whether that person may be on this route
// is authenticate's question, asked each time.

import { hash } from 'node:crypto';
import type { IssuerSettings } from '@lockkeeper/protocol/config/settings';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Metrics } from '../observe/metrics.ts';
import { type Identity, mapClaims } from './claims.ts';
import type { Keys } from './keys.ts';

export interface Verified extends Identity {
  readonly issuer: IssuerSettings;
  /** Unix ms. */
  readonly expiresAt: number;
}

export type Verification =
  | { readonly kind: 'verified'; readonly verified: Verified }
  /** `why` goes to the audit row only (RS-7). */
  | { readonly kind: 'invalid'; readonly why: string }
  | { readonly kind: 'unreadable'; readonly retryAfterMs: number };

export interface Verifier {
  /** At once when the token was verified within the last minute. */
  verify(token: string, connection?: object): Verification | Promise<Verification>;
  /** Lets go of what would have to be verified again anyway. */
  forget(): void;
}

export interface VerifierDeps {
  readonly issuers: readonly IssuerSettings[];
  readonly keysOf: (issuer: IssuerSettings) => Keys;
  readonly now: () => number;
  readonly metrics: Metrics;
}

const REMEMBER_MS = 60_000;
const REMEMBER_MAX = 10_000;
const TOLERANCE_S = 30;
const MAX_KID = 256;
/** Asymmetric only, whatever configuration says (RS-13). */
const ASYMMETRIC = new Set(
  ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'].concat('EdDSA', 'Ed25519'),
);
const TYPES = new Set(['jwt', 'at+jwt', 'application/at+jwt']);
const FORBIDDEN = ['crit', 'b64', 'jku', 'jwk', 'x5u'] as const;

interface Remembered {
  readonly answer: Extract<Verification, { kind: 'verified' }>;
  readonly until: number;
}

export function createVerifier(deps: VerifierDeps): Verifier {
  const remembered = new LRUCache<string, Remembered>({ max: REMEMBER_MAX });
  /** The last good token of each connection: one that comes again as it was needs no key. */
  const last = new WeakMap<object, { readonly token: string; readonly known: Remembered }>();
  return {
    verify(token, connection) {
      const before = connection === undefined ? undefined : last.get(connection);
      if (before !== undefined && before.token === token && deps.now() < before.known.until) {
        deps.metrics.tokenChecked('cached');
        return before.known.answer;
      }
      const key = cacheKey(token);
      const known = remembered.get(key);
      if (known !== undefined && deps.now() < known.until) {
        deps.metrics.tokenChecked('cached');
        if (connection !== undefined) last.set(connection, { token, known });
        return known.answer;
      }
      return verifyFresh(token, deps).then((answer) => {
        deps.metrics.tokenChecked(answer.kind === 'verified' ? 'verified' : 'refused');
        if (answer.kind === 'verified') {
          const until = Math.min(deps.now() + REMEMBER_MS, answer.verified.expiresAt);
          remembered.set(key, { answer, until });
        }
        return answer;
      });
    },
    forget() {
      for (const [key, { until }] of remembered) if (until <= deps.now()) remembered.delete(key);
    },
  };
}

/**
 * The signed text and the *decoded* signature: base64url has slack bits, so one token has many spellings, and all of
 * them must be one entry (RS-16). bearer.ts has checked the alphabet.
 */
function cacheKey(token: string): string {
  const dot = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(dot + 1), 'base64url').toString('latin1');
  return hash('sha256', `${token.slice(0, dot)}.${signature}`, 'base64');
}

async function verifyFresh(token: string, deps: VerifierDeps): Promise<Verification> {
  try {
    const issuer = issuerOf(token, deps.issuers);
    if (issuer === undefined) return invalid('issuer');
    const header = decodeProtectedHeader(token);
    const fault = headerFault(header, issuer);
    if (fault !== null) return invalid(fault);
    const { kid, alg } = header as { kid: string; alg: string };
    const found = await deps.keysOf(issuer).find(kid, alg);
    if (found.kind === 'unreadable') return found;
    if (found.kind === 'unknown') return invalid('kid');
    const { payload } = await jwtVerify(token, found.key, {
      algorithms: [alg],
      issuer: issuer.issuer,
      clockTolerance: TOLERANCE_S,
      requiredClaims: ['exp', 'iat', 'aud'],
      currentDate: new Date(deps.now()),
    });
    return judge(payload, issuer, deps.now());
  } catch (error) {
    return invalid(whyOf(error));
  }
}

/** The unverified `iss` only picks whose keys to try; the signature then says whether it was true. */
function issuerOf(token: string, issuers: readonly IssuerSettings[]): IssuerSettings | undefined {
  const { iss } = decodeJwt(token);
  return issuers.find((issuer) => issuer.issuer === iss);
}

function headerFault(header: Record<string, unknown>, issuer: IssuerSettings): string | null {
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !ASYMMETRIC.has(alg) || !issuer.algorithms.includes(alg)) return 'algorithm';
  if (FORBIDDEN.some((name) => header[name] !== undefined)) return 'header';
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID) return 'kid';
  if (typ !== undefined && !(typeof typ === 'string' && TYPES.has(typ.toLowerCase()))) return 'token-type';
  return null;
}

/** What jose does not check by itself: an `iat` to come, and the shape of the claims we go by. */
function judge(payload: JWTPayload, issuer: IssuerSettings, now: number): Verification {
  const { exp, iat } = payload as { exp: number; iat: number };
  if (iat * 1000 > now + TOLERANCE_S * 1000) return invalid('issued-later');
  const mapped = mapClaims(payload, issuer);
  if (mapped.kind === 'invalid') return invalid(mapped.why);
  return { kind: 'verified', verified: { ...mapped.identity, issuer, expiresAt: exp * 1000 } };
}

function whyOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) return `claim-${error.claim}`.slice(0, 32);
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError)
    return 'malformed';
  throw error;
}

function invalid(why: string): Verification {
  return { kind: 'invalid', why };
}
