// Which node an errand goes to, of those that are there.

import type { ErrandSpec } from './errand-spec.ts';
import type { NodePeer } from './node-peer.ts';
import type { Peers } from './peers.ts';

export function firstToAsk(
  peers: Peers,
  spec: ErrandSpec,
  attempts: number,
  tried: ReadonlySet<NodePeer> | null,
): NodePeer | undefined {
  return before(peers, spec, attempts) ?? peers.choose(spec.owner, tried, spec.nodes);
}

/** The node that answered before, once: it may drain by now, or the key may be another's. */
function before(peers: Peers, { node }: ErrandSpec, attempts: number): NodePeer | undefined {
  if (node === undefined || attempts > 0) return undefined;
  const peer = peers.withId(node);
  return peer === undefined || peer.channel === null ? undefined : peer;
}

/** The exchange may run at a node that drains, or that had the key before. */
export function nextToAsk(peers: Peers, tried: ReadonlySet<NodePeer>): NodePeer | undefined {
  return peers.connected().find((peer) => !tried.has(peer));
}

/** Another of those that may serve it has room, perhaps. */
export function nextWithRoom(
  peers: Peers,
  { owner, nodes = 1 }: ErrandSpec,
  tried: ReadonlySet<NodePeer>,
): NodePeer | undefined {
  return nodes > 1 ? peers.choose(owner, tried, nodes) : undefined;
}

/** Of the node that is gone, or of another life of it; undefined: nothing is recorded, or nobody can be asked. */
export function whoKnowsTheEnd(peers: Peers, { recorded, node }: ErrandSpec): NodePeer | undefined {
  if (!recorded) return undefined;
  const nodes = peers.connected();
  return nodes.find(({ id }) => id === node) ?? nodes[0];
}

/** Another replica met that node, or that life of it, before we did: it is not lost because we have not yet. */
export function mayCome(peers: Peers, { node }: ErrandSpec): boolean {
  return node !== undefined && (peers.withId(node)?.channel ?? null) === null;
}
