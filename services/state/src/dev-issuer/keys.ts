// The key pair of the development issuer: made once, kept in a folder that git ignores, the private half readable by its
// owner only. For development; a real issuer keeps its key elsewhere.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DevKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** Text of the JWKS with the public half. */
  readonly jwks: string;
  readonly jwksFile: string;
  /** True when this call made it. */
  readonly made: boolean;
}

export function devKey(folder: string): DevKey {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keyFile = join(folder, 'private.pem');
  const made = makeKeyFile(keyFile);
  const privateKey = createPrivateKey(readFileSync(keyFile));
  const { kid, jwks } = publicHalf(privateKey);
  const jwksFile = join(folder, 'jwks.json');
  writeFileSync(jwksFile, jwks);
  return { kid, privateKey, jwks, jwksFile, made };
}

/** False when it was there. `wx` settles a race of two: the later one takes the key of the earlier. */
function makeKeyFile(file: string): boolean {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  try {
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The kid is the key's thumbprint (RFC 7638), so it follows the key. */
function publicHalf(privateKey: KeyObject): { kid: string; jwks: string } {
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return { kid, jwks: `${JSON.stringify({ keys: [{ kty, crv, x, y, kid, use: 'sig', alg: 'ES256' }] }, null, 2)}\n` };
}
