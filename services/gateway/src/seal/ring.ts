// Seals: what leaves the gateway and comes back unread and unchanged (design §4 amendment 3, protocol.md Part 6 #4).
// AES-256-GCM under a key derived per tenant; kind, tenant and route are bound as additional data, the expiry lies
// inside. Opening says value or null; why it was null goes to the operator's hook and to nobody else.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface SealKey {
  readonly kid: string;
  /** At least 32 characters of secret; used as it stands. */
  readonly key: string;
}

export interface RingKeys {
  readonly keys: readonly SealKey[];
  /** Which one seals; default: the first. A new key stands in `keys` everywhere before any replica names it here. */
  readonly sealWith?: string;
}

export interface SealContext {
  readonly tenant: string;
  /** Path of the route. */
  readonly route: string;
}

export type SealFault = 'malformed' | 'unknown-key' | 'tampered' | 'expired';

export interface SealRing {
  /** Null when the value is too large to seal. `value` must be JSON. */
  seal(kind: string, value: unknown, context: SealContext, ttlMs: number): string | null;
  open(kind: string, text: string, context: SealContext): unknown;
  /** Swaps the keys; throws and keeps the old ones when the new ones are unfit. */
  rekey(next: RingKeys): void;
}

export interface RingDeps {
  readonly keys: RingKeys;
  readonly now: () => number;
  readonly refused?: (kind: string, why: SealFault) => void;
  /** Longest seal, in characters. */
  readonly maxChars?: number;
}

const VERSION = 'lk1';
const SALT = Buffer.from('lockkeeper seal 1');
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MAX_DERIVED = 1024;
const KID = /^[A-Za-z0-9_-]{1,32}$/;
const MIN_KEY_CHARS = 32;

export function createSealRing(deps: RingDeps): SealRing {
  const maxChars = deps.maxChars ?? 256 * 1024;
  const derived = new Map<string, Buffer>();
  let ring = checked(deps.keys);

  function keyFor(kid: string, tenant: string): Buffer | null {
    const secret = ring.secrets.get(kid);
    if (secret === undefined) return null;
    const id = JSON.stringify([kid, tenant]);
    const known = derived.get(id);
    if (known !== undefined) return known;
    const key = Buffer.from(hkdfSync('sha256', secret, SALT, tenant, 32));
    if (derived.size >= MAX_DERIVED) derived.clear();
    derived.set(id, key);
    return key;
  }

  function refuse(kind: string, why: SealFault): null {
    deps.refused?.(kind, why);
    return null;
  }

  return {
    seal(kind, value, context, ttlMs) {
      const plain = Buffer.from(JSON.stringify({ e: deps.now() + ttlMs, v: value }));
      const key = keyFor(ring.sealWith, context.tenant)!;
      const text = `${VERSION}.${ring.sealWith}.${encrypt(key, plain, boundTo(ring.sealWith, kind, context))}`;
      return text.length > maxChars ? null : text;
    },
    open(kind, text, context) {
      const parts = text.length > maxChars ? null : takeApart(text);
      if (parts === null) return refuse(kind, 'malformed');
      const key = keyFor(parts.kid, context.tenant);
      if (key === null) return refuse(kind, 'unknown-key');
      const plain = decrypt(key, parts.sealed, boundTo(parts.kid, kind, context));
      if (plain === null) return refuse(kind, 'tampered');
      const { e, v } = JSON.parse(plain.toString()) as { e: number; v: unknown };
      return e <= deps.now() ? refuse(kind, 'expired') : v;
    },
    rekey(next) {
      ring = checked(next);
      derived.clear();
    },
  };
}

function checked(keys: RingKeys): { sealWith: string; secrets: ReadonlyMap<string, string> } {
  const secrets = new Map<string, string>();
  for (const { kid, key } of keys.keys) {
    if (!KID.test(kid)) throw new Error(`seal.keys: kid "${kid}" must be 1 to 32 of A-Z a-z 0-9 _ -`);
    if (secrets.has(kid)) throw new Error(`seal.keys: kid "${kid}" is there twice`);
    if (key.length < MIN_KEY_CHARS)
      throw new Error(`seal.keys: key "${kid}" is shorter than ${MIN_KEY_CHARS} characters`);
    secrets.set(kid, key);
  }
  const sealWith = keys.sealWith ?? keys.keys[0]?.kid;
  if (sealWith === undefined) throw new Error('seal.keys: at least one key is needed');
  if (!secrets.has(sealWith)) throw new Error(`seal.sealWith: there is no key "${sealWith}"`);
  return { sealWith, secrets };
}

function boundTo(kid: string, kind: string, context: SealContext): Buffer {
  return Buffer.from(JSON.stringify([VERSION, kid, kind, context.tenant, context.route]));
}

function encrypt(key: Buffer, plain: Buffer, aad: Buffer): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(aad);
  const body = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return body.toString('base64url');
}

function decrypt(key: Buffer, sealed: Buffer, aad: Buffer): Buffer | null {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES)), decipher.final()]);
  } catch {
    return null; // the tag does not fit: altered, or sealed for another kind, tenant or route
  }
}

/** Strict: one spelling per seal, so that no altered character is ever overlooked by a lenient decoder. */
function takeApart(text: string): { kid: string; sealed: Buffer } | null {
  const [version, kid, body, ...rest] = text.split('.');
  if (version !== VERSION || kid === undefined || body === undefined || rest.length > 0 || !KID.test(kid)) return null;
  const sealed = Buffer.from(body, 'base64url');
  if (sealed.length < IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== body) return null;
  return { kid, sealed };
}
