// The cap on sessions per principal (RS-23). At the cap the session that was seen longest ago makes room: a client
// that never says goodbye (GB-016, GB-139) must not lock its own user out, and only that user is affected. One that is
// in use (calls run, a stream is open) never does.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Store } from '@lockkeeper/state/store';
import { holderKey, indexKey, inFlightKey, ownedKey, recordKey, streamHolderKey } from './keys.ts';
import { decodeRecord } from './record.ts';

export interface Owned {
  /** False: no room could be made: all are in use, or others of the same principal open sessions at the same time. */
  add(principal: Principal, id: string, cap: number, ttlMs: number): Promise<boolean>;
}

export interface OwnedDeps {
  readonly store: Store;
  readonly end: (tenant: string, id: string) => Promise<void>;
  /** For the log: it had to make room. */
  readonly evicted: (principal: Principal, id: string) => void;
}

const TRIES = 4;

export function createOwned(deps: OwnedDeps): Owned {
  const { store } = deps;

  async function makeRoom(principal: Principal): Promise<void> {
    const key = ownedKey(principal);
    const ids = await store.membersOf(key);
    const texts = await store.getMany(ids.map((id) => recordKey(principal.tenant, id)));
    const seen = ids.map((id, i) => ({ id, at: lastSeen(texts[i] ?? null) }));
    const gone = seen.filter((s) => s.at === null);
    if (gone.length > 0) {
      await Promise.all(gone.map((s) => store.removeFromSet(key, s.id)));
      return;
    }
    const byAge = seen.sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
    for (const { id } of byAge) {
      if (await inUse(principal.tenant, id)) continue;
      await deps.end(principal.tenant, id);
      await store.removeFromSet(key, id);
      deps.evicted(principal, id);
      return;
    }
  }

  /** A stream counts while a replica holds its socket. */
  async function inUse(tenant: string, id: string): Promise<boolean> {
    if ((await store.membersOf(inFlightKey(tenant, id))).length > 0) return true;
    const own = await store.membersOf(indexKey(tenant, id));
    const holders = own.filter((key) => key.startsWith(streamHolderKey(tenant, id, '')));
    const held = await store.getMany([holderKey(tenant, id), ...holders]);
    return held.some((token) => token !== null);
  }

  return {
    async add(principal, id, cap, ttlMs) {
      for (let i = 0; i < TRIES; i++) {
        if ((await store.addToSet(ownedKey(principal), id, cap, ttlMs)) !== 'full') return true;
        await makeRoom(principal);
      }
      return false;
    },
  };
}

function lastSeen(text: string | null): number | null {
  return text === null ? null : (decodeRecord(text)?.lastSeen ?? null);
}
