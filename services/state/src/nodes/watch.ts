// The live nodes as seen from one process: polled, and at once when a change is hinted. While the store cannot be
// read the last known list stands ("unreachable" is not "gone", design §4).

import type { Clock, Timer } from '../clock.ts';
import type { Store } from '../store.ts';
import { NODE_BEAT_MS, NODE_HINT, NODE_SET, type NodeRecord, nodeKey, parseRecord } from './record.ts';

export interface NodeWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly warn: (words: string) => void;
}

export interface NodeWatch {
  /** Reads once, then keeps reading. Never rejects. */
  start(): Promise<void>;
  live(): readonly NodeRecord[];
  /** Called with every list that differs from the one before. Returns the way to stop being called. */
  onChange(listener: (nodes: readonly NodeRecord[]) => void): () => void;
  close(): Promise<void>;
}

export function createNodeWatch(deps: NodeWatchDeps): NodeWatch {
  const { store, clock, warn } = deps;
  const listeners = new Set<(nodes: readonly NodeRecord[]) => void>();
  let nodes: readonly NodeRecord[] = [];
  let timer: Timer | undefined;
  let closed = false;
  let reading: Promise<void> | null = null;
  let hinted = false;
  let unsubscribe: (() => Promise<void>) | undefined;

  async function read(): Promise<void> {
    try {
      const ids = (await store.membersOf(NODE_SET)).sort();
      const texts = await store.getMany(ids.map(nodeKey));
      const found = texts.map(parseRecord).filter((r) => r !== null);
      for (const [i, id] of ids.entries()) if (texts[i] === null) await store.removeFromSet(NODE_SET, id);
      replace(found);
    } catch (error) {
      warn(`the nodes could not be read: ${String(error)}`);
    }
  }

  function replace(found: readonly NodeRecord[]): void {
    if (closed || JSON.stringify(found) === JSON.stringify(nodes)) return;
    nodes = found;
    for (const listener of [...listeners]) listener(nodes);
  }

  /** One reading at a time; a hint during one asks for another. */
  function refresh(): Promise<void> {
    if (reading !== null) {
      hinted = true;
      return reading;
    }
    timer?.clear();
    reading = read().finally(() => {
      reading = null;
      if (closed) return;
      timer = clock.setTimer(hinted ? 0 : NODE_BEAT_MS, poll);
      hinted = false;
    });
    return reading;
  }

  function poll(): void {
    refresh().catch(() => warn('the nodes were not read'));
  }

  return {
    start: async () => {
      try {
        unsubscribe = await store.subscribe(NODE_HINT, poll);
      } catch (error) {
        warn(`changes of nodes are only polled: ${String(error)}`);
      }
      await refresh();
    },
    live: () => nodes,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      closed = true;
      timer?.clear();
      listeners.clear();
      await reading;
      await unsubscribe?.().catch(() => warn('the subscription to nodes ended badly'));
    },
  };
}
