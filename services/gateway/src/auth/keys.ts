// Keeps each issuer's keys at hand: from a file, read again when it changes, or from a URI, fetched with a cap, a
// timeout, one flight at a time and a cooldown, so that made-up kids cannot turn us against the IdP (RS-15). Keys
// that cannot be read are `unreadable`, which is never the caller's fault (RS-6).

import type { KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { IssuerSettings } from '@lockkeeper/protocol/config/settings';
import type { Log } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { fetchJwks } from './fetch-jwks.ts';
import { type KeySet, parseKeySet } from './key-set.ts';

export type KeyAnswer =
  | { readonly kind: 'key'; readonly key: KeyObject }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreadable'; readonly retryAfterMs: number };

export interface Keys {
  find(kid: string, alg: string): Promise<KeyAnswer>;
}

export interface KeysDeps {
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** How long a set counts as fresh, between two looks, and how long a stale one serves while its source is away. */
interface Times {
  readonly freshMs: number;
  readonly cooldownMs: number;
  readonly staleMs: number;
}

const URI_TIMES: Times = { freshMs: 10 * 60_000, cooldownMs: 30_000, staleMs: 60 * 60_000 };
const FILE_TIMES: Times = { freshMs: 1_000, cooldownMs: 1_000, staleMs: 60 * 60_000 };

export function createKeys(issuer: IssuerSettings, deps: KeysDeps): Keys {
  if ('file' in issuer.jwks) return keep(issuer.issuer, fileReader(issuer.jwks.file), FILE_TIMES, deps);
  const { uri } = issuer.jwks;
  return keep(issuer.issuer, async () => parseKeySet(await fetchJwks(uri)), URI_TIMES, deps);
}

/** Reads the file only when it is another one than last time. */
function fileReader(file: string): (current: KeySet | null) => Promise<KeySet> {
  let seen = '';
  return async (current) => {
    const { mtimeMs, size, ino } = await stat(file);
    const mark = `${mtimeMs} ${size} ${ino}`;
    if (current !== null && mark === seen) return current;
    const set = parseKeySet(await readFile(file, 'utf8'));
    seen = mark;
    return set;
  };
}

function keep(
  issuer: string,
  read: (current: KeySet | null) => Promise<KeySet>,
  times: Times,
  { now, log, metrics }: KeysDeps,
): Keys {
  let set: KeySet | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let failing = false;
  let flight: Promise<void> | null = null;

  async function refresh(): Promise<void> {
    triedAt = now();
    try {
      const next = await read(set);
      if (next !== set) metrics.keysFetched('ok');
      set = next;
      readAt = now();
      failing = false;
    } catch (error) {
      metrics.keysFetched('failed');
      log.error('keys of an issuer cannot be read', { issuer, error });
      failing = true;
    }
  }

  /** One flight; not again within the cooldown, whoever asks. */
  function look(): Promise<void> {
    if (flight !== null) return flight;
    if (now() - triedAt < times.cooldownMs) return Promise.resolve();
    flight = refresh().finally(() => {
      flight = null;
    });
    return flight;
  }

  const unreadable = (): KeyAnswer => ({
    kind: 'unreadable',
    retryAfterMs: Math.max(1000, triedAt + times.cooldownMs - now()),
  });

  return {
    async find(kid, alg) {
      if (now() - readAt >= times.freshMs) await look();
      if (set === null || now() - readAt > times.staleMs) return unreadable();
      let key = set.find(kid, alg);
      if (key === null) {
        await look(); // the issuer may have turned its keys (GB-109)
        key = set.find(kid, alg);
      }
      if (key !== null) return { kind: 'key', key };
      return failing ? unreadable() : { kind: 'unknown' };
    },
  };
}
