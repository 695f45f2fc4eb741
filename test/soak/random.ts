// Chance that can be had again: one seed, and from it a source of its own for each who draws, so that what one draws does
// not depend on how fast the others are.

export interface Random {
  /** 0 ≤ x < 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  one<T>(of: readonly T[]): T;
  /** By weight. */
  weighted<T>(of: readonly (readonly [number, T])[]): T;
  /** Another source, always the same for a name. */
  fork(name: string): Random;
}

/** mulberry32: 32 bits of state, good enough to choose with. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    one: (of) => of[between(0, of.length - 1)]!,
    weighted(of) {
      let left = next() * of.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of of) {
        left -= weight;
        if (left < 0) return value;
      }
      return of.at(-1)![1];
    },
    fork(name) {
      let hash = seed >>> 0;
      for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
      return createRandom(hash);
    },
  };
}
