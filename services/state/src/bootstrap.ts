// Secrets that nobody configured (design §4 "Seal", link peer proof): made once and shared through the store, so that
// replicas agree. Whoever can read Redis can then read them, so this warns and says what to set instead.

import { keyOf, type Store } from './store.ts';

export interface SharedSecretDeps {
  readonly random: (bytes: number) => Buffer;
  readonly warn: (words: string) => void;
}

/** Renewed at each start. Longer than any process lives, or a late starter would make a second one. */
const TTL_MS = 400 * 24 * 3600 * 1000;
const SETTING: Readonly<Record<string, string>> = { link: 'link.secret', seal: 'seal.keys' };

/** The same bytes for everyone on this store. Rejects when the store is unreachable: two secrets are worse than none. */
export async function sharedSecret(
  store: Store,
  name: string,
  bytes: number,
  { random, warn }: SharedSecretDeps,
): Promise<Buffer> {
  const key = keyOf('', 'keys', name);
  if (store.kind === 'redis') {
    const set = SETTING[name] ?? 'link.secret and seal.keys';
    warn(`the ${name} secret is generated and kept in Redis: keep it in a secret store instead and set ${set}`);
  }
  for (;;) {
    const fresh = random(bytes).toString('base64');
    if (await store.setIfAbsent(key, fresh, TTL_MS)) return Buffer.from(fresh, 'base64');
    const present = await store.get(key);
    if (present === null) continue;
    await store.touch(key, TTL_MS);
    const secret = Buffer.from(present, 'base64');
    if (secret.length !== bytes)
      throw new Error(`the ${name} secret in the store has ${secret.length} bytes, not ${bytes}`);
    return secret;
  }
}
