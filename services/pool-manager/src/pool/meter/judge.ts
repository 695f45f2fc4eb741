// What follows from what a child uses: nothing, its replacement when it is free, or its end at once. Pure.

import type { Isolation } from '@lockkeeper/protocol/link/keys';

export interface MemoryRules {
  readonly isolation: Isolation;
  /** Absent: 1024. 0: no cap. */
  readonly maxMemoryMb?: number;
  /** Absent: four times the other. 0: no cap. */
  readonly hardMemoryMb?: number;
}

export type MemoryVerdict = 'fine' | 'replace' | 'end';

const MIB = 1024 * 1024;
/** An SDK's idle process has 20 to 33 MB (design §11). */
const DEFAULT_MB = 1024;
const HARD_FACTOR = 4;
/** An idle process that takes so much of one processor … */
const SPIN_SHARE = 0.8;
/** … for so long is turning in circles. */
export const SPIN_MS = 30_000;

export function softMbOf({ maxMemoryMb }: MemoryRules): number {
  return maxMemoryMb ?? DEFAULT_MB;
}

export function hardMbOf(rules: MemoryRules): number {
  return rules.hardMemoryMb ?? HARD_FACTOR * softMbOf(rules);
}
export function judgeMemory(bytes: number, rules: MemoryRules): MemoryVerdict {
  const hard = hardMbOf(rules);
  if (hard > 0 && bytes > hard * MIB) return 'end';
  const soft = softMbOf(rules);
  // The state of a session lives in its process, so only the hard cap ends it (design §5 table).
  return rules.isolation !== 'session' && soft > 0 && bytes > soft * MIB ? 'replace' : 'fine';
}

/** Since when an idle process takes a processor for itself; null: it does not. */
export function spinsSince(before: number | null, share: number, idle: boolean, at: number): number | null {
  return idle && share >= SPIN_SHARE ? (before ?? at) : null;
}
