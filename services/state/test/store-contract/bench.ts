// What each part of the store contract works on: one store of one kind, and keys that nobody else uses.

import { randomUUID } from 'node:crypto';
import { eventually } from '../../../../test/harness/eventually.ts';
import { keyOf, type Store } from '../../src/store.ts';

export const TTL = 60_000;

export interface Bench {
  readonly kind: string;
  /** Opened before the tests run. */
  readonly store: () => Store;
  readonly tenant: string;
  /** A fresh key each time. */
  readonly key: () => string;
  readonly gone: (key: string) => Promise<boolean>;
}

export function createBench(kind: string, store: () => Store): Bench {
  const tenant = `t-${randomUUID()}`;
  let n = 0;
  return {
    kind,
    store,
    tenant,
    key: () => keyOf(tenant, 'k', String(n++)),
    gone: (key) => eventually(async () => (await store().get(key)) === null),
  };
}
