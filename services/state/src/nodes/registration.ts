// A node's own entry among the nodes: kept alive by a heartbeat, changed when it drains or takes a new incarnation,
// taken out at the end. A store that cannot be reached is tried again at the next beat; it never stops the node.

import type { Clock, Timer } from '../clock.ts';
import type { Store } from '../store.ts';
import {
  MAX_NODES,
  NODE_BEAT_MS,
  NODE_HINT,
  NODE_SAFE_MS,
  NODE_SET,
  NODE_TTL_MS,
  type NodeRecord,
  nodeKey,
} from './record.ts';

export interface RegistrationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly warn: (words: string) => void;
}

export interface Registration {
  current(): NodeRecord;
  /** Writes the change at once and hints it to the watchers. */
  announce(change: { readonly incarnation?: string; readonly draining?: boolean }): Promise<void>;
  /** Until then nobody takes this node for gone. */
  safeUntil(): number;
  /** Since then nobody could; what was known of leases before may have changed. */
  safeSince(): number;
  /** Writes it now, rather than at the next beat. Never rejects. */
  renew(): Promise<void>;
  /** Takes the entry out. Idempotent. */
  close(): Promise<void>;
}

export async function registerNode(deps: RegistrationDeps, record: NodeRecord): Promise<Registration> {
  const { store, clock, warn } = deps;
  let own = record;
  let closed = false;
  let timer: Timer | undefined;
  let safeSince = clock.now();
  let safeUntil = safeSince;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    try {
      const written = JSON.stringify(own);
      const asked = clock.now();
      await store.set(nodeKey(own.id), written, NODE_TTL_MS);
      if (asked >= safeUntil) safeSince = clock.now();
      safeUntil = asked + NODE_SAFE_MS;
      const joined = await store.addToSet(NODE_SET, own.id, MAX_NODES, NODE_TTL_MS * 4);
      if (joined === 'full') warn(`more than ${MAX_NODES} nodes are registered; this one is not seen by gateways`);
      if (joined === 'added') await store.publish(NODE_HINT, own.id);
    } catch (error) {
      warn(`the node could not be registered: ${String(error)}`);
    }
  }

  /** One write after another, so that an older state never overwrites a newer one. */
  function queued(work: () => Promise<void>): Promise<void> {
    writing = writing.then(work);
    return writing;
  }

  function beat(): void {
    timer = clock.setTimer(NODE_BEAT_MS, () => {
      queued(write).then(() => {
        if (!closed) beat();
      }, warn);
    });
  }

  await queued(write);
  beat();

  return {
    current: () => own,
    safeUntil: () => safeUntil,
    safeSince: () => safeSince,
    renew: () => queued(write),
    announce: (change) => {
      own = { ...own, ...change };
      return queued(async () => {
        await write();
        await store.publish(NODE_HINT, own.id).catch(() => warn('a change of this node was not hinted'));
      });
    },
    close: async () => {
      if (closed) return writing;
      closed = true;
      timer?.clear();
      await queued(async () => {
        try {
          await store.delete(nodeKey(own.id));
          await store.removeFromSet(NODE_SET, own.id);
          await store.publish(NODE_HINT, own.id);
        } catch (error) {
          warn(`the node's entry stays until it expires: ${String(error)}`);
        }
      });
    },
  };
}
