// The cap on sessions per principal (RS-23). At the cap the session that was seen longest ago makes room: a client
// that never says goodbye (GB-016, GB-139) must not lock its own user out, and only that user is affected.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Store } from '@lockkeeper/state/store';
import { ownedKey, recordKey } from './keys.ts';
import { decodeRecord } from './record.ts';

export interface Owned {
  /** False: no room could be made, since others of the same principal open sessions at the same time. */
  add(principal: Principal, id: string, cap: number, ttlMs: number): Promise<boolean>;
}

export interface OwnedDeps {
  readonly store: Store;
  readonly end: (tenant: string, id: string) => Promise<void>;
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
    const oldest = seen.reduce<(typeof seen)[number] | null>(
      (a, b) => (a === null || (b.at ?? 0) < (a.at ?? 0) ? b : a),
      null,
    );
    if (oldest === null) return;
    await deps.end(principal.tenant, oldest.id);
    await store.removeFromSet(key, oldest.id);
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
