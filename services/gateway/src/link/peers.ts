// All nodes of the cluster as one gateway has them, and the choice among them (design §4 "Who owns a pool key"): what
// a `moved` told lately, else rendezvous hashing over those that are connected and do not drain.

import type { Clock } from '@lockkeeper/state/clock';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import { chosen } from '@lockkeeper/state/nodes/rendezvous';
import { NodePeer, type NodePeerDeps } from './node-peer.ts';
import { createSpread } from './spread.ts';

export interface PeersDeps extends Omit<NodePeerDeps, 'changed'> {
  readonly clock: Clock;
}

/** Where an owner's work is, as learnt from `moved`; the lease wins over the hash. */
const MOVED_TTL_MS = 30_000;
const MAX_MOVED = 10_000;

export interface Peers {
  replace(nodes: readonly NodeRecord[]): void;
  /** Connected, in any state. */
  connected(): readonly NodePeer[];
  /** The node for an owner's new work, leaving out `except`; or one of the `nodes` on which that may be at once. */
  choose(owner: string, except: ReadonlySet<NodePeer> | null, nodes?: number): NodePeer | undefined;
  /** Work that may be on several nodes goes there. Returns how its end is told. */
  begin(owner: string, peer: NodePeer): () => void;
  withId(id: string): NodePeer | undefined;
  /** Connected or not: the life that a seal names. */
  withIncarnation(incarnation: string): NodePeer | undefined;
  moved(owner: string, node: string): void;
  /** It refused new work: it is not chosen until it says otherwise. */
  drains(peer: NodePeer): void;
  /** Every node's first attempt is over. */
  settled(): boolean;
  /** Called once, at the next change. Returns the way not to be. */
  onceChanged(run: () => void): () => void;
  end(reason: string): void;
}

export function createPeers(deps: PeersDeps): Peers {
  const { clock } = deps;
  const peers = new Map<string, NodePeer>();
  const moves = new Map<string, { readonly node: string; readonly until: number }>();
  const waiters = new Set<() => void>();
  const spread = createSpread<NodePeer>();
  let able: readonly NodePeer[] = [];

  function changed(): void {
    for (const [id, peer] of peers) if (peer.gone) peers.delete(id);
    able = [...peers.values()].filter((peer) => peer.channel !== null && !peer.draining);
    const woken = [...waiters];
    waiters.clear();
    for (const run of woken) run();
  }

  function replace(nodes: readonly NodeRecord[]): void {
    const named = new Set(nodes.map((n) => n.id));
    for (const [id, peer] of peers) if (!named.has(id) && peer.unwanted()) peers.delete(id);
    for (const record of nodes) {
      let peer = peers.get(record.id);
      if (peer === undefined) {
        peer = new NodePeer(record, { ...deps, changed });
        peers.set(record.id, peer);
      }
      peer.update(record);
    }
    changed();
  }

  function told(owner: string): NodePeer | undefined {
    if (moves.size === 0) return undefined;
    const move = moves.get(owner);
    if (move === undefined) return undefined;
    const peer = peers.get(move.node);
    if (move.until > clock.now() && peer !== undefined && peer.channel !== null && !peer.draining) return peer;
    moves.delete(owner);
    return undefined;
  }

  function choose(owner: string, except: ReadonlySet<NodePeer> | null, nodes = 1): NodePeer | undefined {
    if (nodes > 1) return spread.choose({ owner, nodes }, able, except);
    const known = told(owner);
    if (known !== undefined && except?.has(known) !== true) return known;
    if (except === null || except.size === 0) return chosen(owner, able);
    return chosen(
      owner,
      able.filter((peer) => !except.has(peer)),
    );
  }

  function moved(owner: string, node: string): void {
    moves.delete(owner);
    moves.set(owner, { node, until: clock.now() + MOVED_TTL_MS });
    if (moves.size <= MAX_MOVED) return;
    for (const oldest of moves.keys()) {
      moves.delete(oldest);
      return;
    }
  }

  return {
    replace,
    choose,
    begin: spread.begin,
    moved,
    drains: (peer) => {
      if (peer.draining) return;
      peer.draining = true;
      changed();
    },
    connected: () => [...peers.values()].filter((peer) => peer.channel !== null),
    withId: (id) => peers.get(id),
    withIncarnation: (incarnation) => [...peers.values()].find((peer) => peer.incarnation === incarnation),
    settled: () => [...peers.values()].every((peer) => peer.settled),
    onceChanged: (run) => {
      waiters.add(run);
      return () => waiters.delete(run);
    },
    end: (reason) => {
      for (const peer of [...peers.values()]) peer.end(reason);
    },
  };
}
