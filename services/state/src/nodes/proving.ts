// What the link's handshake needs of cryptography (protocol/link/handshake.ts): a keyed hash under the link's secret,
// a comparison in constant time, and random text. The secret stays in here.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Proving {
  prove(text: string): string;
  equal(a: string, b: string): boolean;
}

const MIN_SECRET = 16;

export function createProving(secret: string): Proving {
  if (secret.length < MIN_SECRET) throw new Error(`link.secret must have at least ${MIN_SECRET} characters`);
  const digest = (text: string) => createHmac('sha256', secret).update(text).digest();
  return {
    prove: (text) => digest(text).toString('base64url'),
    equal: (a, b) => {
      // Compared as digests, so that lengths tell nothing either.
      return timingSafeEqual(digest(a), digest(b));
    },
  };
}

/** Nonces, incarnations, lease tokens, pair names: 192 bits. */
export function randomToken(): string {
  return randomBytes(24).toString('base64url');
}
