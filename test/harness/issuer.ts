// A token issuer for tests: ES256 keys, a JWKS file, good tokens, and each mistake a resource server must catch. Signs by
// hand with node:crypto, so that what is wrong is wrong on purpose and no library smooths it.

import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Mistake =
  | 'expired'
  | 'not-yet'
  | 'no-expiry'
  | 'wrong-audience'
  | 'no-audience'
  | 'wrong-issuer'
  | 'alg-none'
  | 'hs256'
  | 'no-kid'
  | 'unknown-kid'
  | 'foreign-key'
  | 'embedded-jwk'
  | 'cut-signature'
  | 'changed-payload'
  | 'no-subject';

export interface TokenWish {
  readonly sub?: string;
  readonly audience: string | readonly string[];
  readonly groups?: readonly string[];
  readonly tenant?: string;
  readonly client?: string;
  readonly ttlSeconds?: number;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly mistake?: Mistake;
}

export interface Issuer {
  readonly issuer: string;
  readonly jwksFile: string;
  readonly jwks: Readonly<Record<string, unknown>>;
  token(wish: TokenWish): string;
  /** Replaces the key and rewrites the file. */
  rotate(): void;
  close(): void;
}

interface Key {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function makeKey(): Key {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomUUID();
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' } };
}

function claimsFor(issuer: string, wish: TokenWish): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  const claims: Record<string, unknown> = {
    iss: issuer,
    sub: wish.sub ?? 'alice',
    aud: wish.audience,
    iat: now,
    exp: now + (wish.ttlSeconds ?? 300),
    client_id: wish.client ?? 'test-client',
    groups: wish.groups ?? ['dev'],
    ...(wish.tenant !== undefined && { tenant: wish.tenant }),
    ...wish.claims,
  };
  const spoil: Partial<Record<Mistake, () => void>> = {
    expired: () => Object.assign(claims, { iat: now - 7200, exp: now - 3600 }),
    'not-yet': () => Object.assign(claims, { nbf: now + 3600 }),
    'no-expiry': () => delete claims.exp,
    'wrong-audience': () => Object.assign(claims, { aud: 'https://other.example/mcp' }),
    'no-audience': () => delete claims.aud,
    'wrong-issuer': () => Object.assign(claims, { iss: 'https://evil.example' }),
    'no-subject': () => delete claims.sub,
  };
  if (wish.mistake) spoil[wish.mistake]?.();
  return claims;
}

function headerFor(key: Key, foreign: Key, mistake: Mistake | undefined): Record<string, unknown> {
  const header: Record<string, unknown> = { alg: 'ES256', typ: 'JWT', kid: key.kid };
  if (mistake === 'alg-none') header.alg = 'none';
  if (mistake === 'hs256') header.alg = 'HS256';
  if (mistake === 'no-kid') delete header.kid;
  if (mistake === 'unknown-kid') header.kid = 'nobody-knows-me';
  if (mistake === 'embedded-jwk') header.jwk = foreign.jwk;
  return header;
}

function signatureFor(text: string, key: Key, foreign: Key, mistake: Mistake | undefined): string {
  if (mistake === 'alg-none') return '';
  // The old trick: the public key taken as an HMAC secret.
  if (mistake === 'hs256') return createHmac('sha256', JSON.stringify(key.jwk)).update(text).digest('base64url');
  const signer = mistake === 'foreign-key' || mistake === 'embedded-jwk' ? foreign.privateKey : key.privateKey;
  const signature = sign('sha256', Buffer.from(text), { key: signer, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return mistake === 'cut-signature' ? signature.slice(0, -8) : signature;
}

export function createIssuer(issuer = 'https://idp.example'): Issuer {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-issuer-'));
  const jwksFile = join(folder, 'jwks.json');
  const foreign = makeKey();
  let key = makeKey();
  const publish = () => writeFileSync(jwksFile, JSON.stringify({ keys: [key.jwk] }));
  publish();
  return {
    issuer,
    jwksFile,
    get jwks() {
      return { keys: [key.jwk] };
    },
    token(wish) {
      const claims = claimsFor(issuer, wish);
      const text = `${b64(headerFor(key, foreign, wish.mistake))}.${b64(claims)}`;
      const signature = signatureFor(text, key, foreign, wish.mistake);
      if (wish.mistake !== 'changed-payload') return `${text}.${signature}`;
      return `${text.split('.')[0]}.${b64({ ...claims, sub: 'mallory' })}.${signature}`;
    },
    rotate() {
      key = makeKey();
      publish();
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
