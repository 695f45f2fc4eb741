// One issuer's public keys, parsed from a JWKS document (auth-security.md RS-15). Only asymmetric keys with a kid;
// RSA from 2048 bits; a document that uses one kid twice is refused as a whole.

import { createPublicKey, type KeyObject } from 'node:crypto';

export interface KeySet {
  /** The key of that id, fit for `alg`; null when there is none. */
  find(kid: string, alg: string): KeyObject | null;
  readonly size: number;
}

export class BadKeySet extends Error {
  constructor(why: string) {
    super(`not a usable JWKS: ${why}`);
    this.name = 'BadKeySet';
  }
}

export const MAX_JWKS_BYTES = 256 * 1024;
const MAX_KEYS = 256;

interface Entry {
  readonly key: KeyObject;
  readonly alg: string | undefined;
}

export function parseKeySet(document: string): KeySet {
  if (document.length > MAX_JWKS_BYTES) throw new BadKeySet('larger than 256 KiB');
  let parsed: unknown;
  try {
    parsed = JSON.parse(document);
  } catch {
    throw new BadKeySet('not JSON');
  }
  const keys = (parsed as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new BadKeySet('no list of keys, or too many');
  const byId = new Map<string, Entry>();
  for (const jwk of keys as unknown[]) {
    const entry = entryOf(jwk);
    if (entry === null) continue;
    if (byId.has(entry.kid)) throw new BadKeySet('a kid is used twice');
    byId.set(entry.kid, entry);
  }
  return {
    size: byId.size,
    find(kid, alg) {
      const entry = byId.get(kid);
      return entry !== undefined && fits(entry, alg) ? entry.key : null;
    },
  };
}

/** Null for what is not a signing key of a kind we take; it is passed over, not an error. */
function entryOf(value: unknown): (Entry & { kid: string }) | null {
  if (typeof value !== 'object' || value === null) return null;
  const { kid, kty, use, alg, key_ops, n, e, x, y, crv } = value as Record<string, unknown>;
  if (typeof kid !== 'string' || kid === '' || (use !== undefined && use !== 'sig')) return null;
  if (Array.isArray(key_ops) && !key_ops.includes('verify')) return null;
  // Public members only: whatever else the file holds is not read.
  const jwk =
    kty === 'RSA' ? { kty, n, e } : kty === 'EC' ? { kty, crv, x, y } : kty === 'OKP' ? { kty, crv, x } : null;
  if (jwk === null) return null;
  try {
    const key = createPublicKey({ key: jwk as import('node:crypto').JsonWebKey, format: 'jwk' });
    if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) return null;
    return { kid, key, alg: typeof alg === 'string' ? alg : undefined };
  } catch {
    return null; // a curve or a number that is none
  }
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' };

function fits({ key, alg: own }: Entry, alg: string): boolean {
  if (own !== undefined && own !== alg) return false;
  if (/^[RP]S(?:256|384|512)$/.test(alg)) return key.asymmetricKeyType === 'rsa';
  if (alg === 'EdDSA' || alg === 'Ed25519') return key.asymmetricKeyType === 'ed25519';
  return key.asymmetricKeyType === 'ec' && CURVES[alg] === key.asymmetricKeyDetails?.namedCurve;
}
