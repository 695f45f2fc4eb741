// Who holds a socket. The newest taker wins, whatever stood there: a client that comes back has left its old socket,
// even where that is still half open (protocol.md §5.8 #20). The old holder learns it by its next renewal, or by hint.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';

export interface Lease {
  readonly token: string;
  /** Asks the store now whether it is ours still; one that does not answer has given it away. Never rejects. */
  confirm(): Promise<void>;
  /** Idempotent; leaves another's lease alone. */
  release(): Promise<void>;
}

export interface LeaseDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

/** `lost` is called at most once: someone else took it, or the store has not heard of us for its whole length. */
export async function takeLease(deps: LeaseDeps, key: string, token: string, lost: () => void): Promise<Lease> {
  const { store, clock } = deps;
  let renewedAt = clock.now();
  let timer: Timer | null = null;
  let over = false;
  await store.set(key, token, LEASE_MS);

  const stop = (): void => {
    over = true;
    timer?.clear();
  };
  const lose = (): void => {
    if (over) return;
    stop();
    lost();
  };
  async function renew(): Promise<void> {
    const startedAt = clock.now();
    try {
      if (!(await store.compareAndTouch(key, token, LEASE_MS))) return lose();
      renewedAt = startedAt;
    } catch (error) {
      deps.failed('stream lease', error);
      if (clock.now() - renewedAt >= LEASE_MS) return lose();
    }
    if (!over) again();
  }
  function again(): void {
    timer = clock.setTimer(RENEW_MS, () => {
      renew().catch((error: unknown) => deps.failed('stream lease', error));
    });
  }
  again();
  return {
    token,
    async confirm() {
      if (over) return;
      try {
        if (await store.compareAndTouch(key, token, LEASE_MS)) return;
      } catch (error) {
        deps.failed('stream lease', error);
      }
      lose();
    },
    async release() {
      stop();
      await store.compareAndDelete(key, token);
    },
  };
}
