// Which node an owner key goes to (design §4): each node gets a score for the key, the highest has it. When a node
// comes or goes, only the keys that it gains or had move. Pure; the same on every gateway.

function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h);
}

function mix(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** All of `nodes`, the chosen one first, then who would be chosen without it, and so on. */
export function ranked<N extends { readonly id: string }>(key: string, nodes: readonly N[]): N[] {
  const ofKey = hash(key);
  const scored = nodes.map((node) => ({ node, score: mix(ofKey ^ hash(node.id)) }));
  scored.sort((a, b) => b.score - a.score || (a.node.id > b.node.id ? -1 : 1));
  return scored.map(({ node }) => node);
}

/** The chosen one of `nodes`; undefined when there is none. Order of `nodes` does not matter. */
export function chosen<N extends { readonly id: string }>(key: string, nodes: readonly N[]): N | undefined {
  if (nodes.length < 2) return nodes[0];
  const ofKey = hash(key);
  let best: N | undefined;
  let bestScore = -1;
  for (const node of nodes) {
    const score = mix(ofKey ^ hash(node.id));
    if (score > bestScore || (score === bestScore && best !== undefined && node.id > best.id)) {
      best = node;
      bestScore = score;
    }
  }
  return best;
}
