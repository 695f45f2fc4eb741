// Which of the nodes that may serve a spread key takes the next call (design §4 "Hot shared keys"). As long as few calls
// are under way the first one has them all, and the others need no process; each further node comes in when those before
// it are busy, and then whoever has fewest calls of this gateway is next.

import { ranked } from '@lockkeeper/state/nodes/rendezvous';

export interface SpreadKey {
  readonly owner: string;
  /** Most nodes at once. */
  readonly nodes: number;
}

export interface Spread<N extends { readonly id: string }> {
  choose(key: SpreadKey, able: readonly N[], except: ReadonlySet<N> | null): N | undefined;
  /** A call goes there. Returns how its end is told. */
  begin(owner: string, node: N): () => void;
}

/** Calls under way at which one node more is used. */
const BUSY = 32;

export function createSpread<N extends { readonly id: string }>(): Spread<N> {
  const underWay = new Map<string, Map<string, number>>();

  function choose({ owner, nodes }: SpreadKey, able: readonly N[], except: ReadonlySet<N> | null): N | undefined {
    const counts = underWay.get(owner);
    const callsAt = ({ id }: N) => counts?.get(id) ?? 0;
    const all = ranked(owner, able).slice(0, nodes);
    const total = all.reduce((sum, node) => sum + callsAt(node), 0);
    // Who was asked and could not makes room for the next.
    const open = Math.floor(total / BUSY) + 1 + (except?.size ?? 0);
    const left = all.slice(0, open).filter((node) => except?.has(node) !== true);
    return left.reduce<N | undefined>((a, b) => (a === undefined || callsAt(b) < callsAt(a) ? b : a), undefined);
  }

  function begin(owner: string, { id }: N): () => void {
    const counts = underWay.get(owner) ?? new Map<string, number>();
    underWay.set(owner, counts);
    counts.set(id, (counts.get(id) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (counts.get(id) ?? 1) - 1;
      if (left > 0) counts.set(id, left);
      else counts.delete(id);
      if (counts.size === 0 && underWay.get(owner) === counts) underWay.delete(owner);
    };
  }

  return { choose, begin };
}
