// Hints between replicas over pub/sub: a session has ended or changed, a call was cancelled, a stream has another
// holder. They make the common case quick. They may be lost, so nothing rests on them: caches are short, the keeper
// re-reads and leases are renewed.

import type { Store } from '@lockkeeper/state/store';
import { HINT_CHANNEL } from './keys.ts';

export type Hint =
  | { readonly kind: 'ended' | 'changed'; readonly tenant: string; readonly id: string }
  | { readonly kind: 'cancelled'; readonly tenant: string; readonly id: string; readonly xid: string }
  /** Another socket has taken this stream over. */
  | {
      readonly kind: 'taken';
      readonly tenant: string;
      readonly id: string;
      readonly stream: string;
      readonly token: string;
    };

export interface Hints {
  send(hint: Hint): void;
  on(listener: (hint: Hint) => void): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createHints(store: Store, failed: (error: unknown) => void): Hints {
  const listeners: ((hint: Hint) => void)[] = [];
  let stop: (() => Promise<void>) | null = null;

  function receive(text: string): void {
    const hint = parseHint(text);
    if (hint !== null) for (const listener of listeners) listener(hint);
  }

  return {
    send(hint) {
      store.publish(HINT_CHANNEL, JSON.stringify(hint)).catch(failed);
    },
    on(listener) {
      listeners.push(listener);
    },
    async start() {
      stop ??= await store.subscribe(HINT_CHANNEL, receive);
    },
    async close() {
      const end = stop;
      stop = null;
      await end?.();
    },
  };
}

function parseHint(text: string): Hint | null {
  try {
    const hint = JSON.parse(text) as Hint;
    return typeof hint.tenant === 'string' && typeof hint.id === 'string' ? hint : null;
  } catch {
    return null; // not ours
  }
}
