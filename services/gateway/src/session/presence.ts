// Whether a replica is still there. Each beats on a key of its own while it runs; a call whose lowering replica no
// longer beats is lowered by whoever holds the call's stream (design §4 "Legacy streams"). A silent store is no death.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Random } from './id.ts';
import { replicaKey } from './keys.ts';

export interface Presence {
  /** This replica's own name, fresh for each life. */
  readonly self: string;
  /** True as well when nobody can say. */
  alive(replica: string): Promise<boolean>;
  start(): Promise<void>;
  /** Others may take over at once. */
  close(): Promise<void>;
}

export interface PresenceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly failed: (what: string, error: unknown) => void;
}

const LIFE_MS = 6_000;
const BEAT_MS = 2_000;

export function createPresence({ store, clock, random, failed }: PresenceDeps): Presence {
  const self = Buffer.from(random(9)).toString('base64url');
  const key = replicaKey(self);
  let timer: Timer | null = null;
  let running = false;

  async function beat(): Promise<void> {
    await store.set(key, '1', LIFE_MS);
    // Closed while it was being written: the key must not outlive us.
    if (!running) await store.delete(key);
  }

  function again(): void {
    timer = clock.setTimer(BEAT_MS, () => {
      beat()
        .catch((error: unknown) => failed('replica beat', error))
        .finally(() => {
          if (running) again();
        });
    });
    timer.unref?.();
  }

  return {
    self,
    async alive(replica) {
      if (replica === self) return true;
      return (await store.get(replicaKey(replica)).catch(() => 'unreadable')) !== null;
    },
    async start() {
      if (running) return;
      running = true;
      await beat().catch((error: unknown) => failed('replica beat', error));
      again();
    },
    async close() {
      running = false;
      timer?.clear();
      await store.delete(key).catch((error: unknown) => failed('replica beat', error));
    },
  };
}
