// Fetches a JWKS document within bounds (auth-security.md RS-15): 3 s in all, 256 KiB, no redirects, https unless the
// host is loopback. The text is not judged here.

import { fetch } from 'undici';
import { MAX_JWKS_BYTES } from './key-set.ts';

const TIMEOUT_MS = 3000;

export class JwksUnreachable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'JwksUnreachable';
  }
}

export async function fetchJwks(uri: string): Promise<string> {
  const url = new URL(uri);
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) throw new JwksUnreachable('not https');
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json, application/jwk-set+json' },
  });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new JwksUnreachable(`status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_JWKS_BYTES) throw new JwksUnreachable('larger than 256 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
