// What follows from what a child uses: nothing, its replacement when it is free, or its end at once. Pure.

import type { Isolation } from '@lockkeeper/protocol/link/keys';

export interface MemoryCaps {
  /** In MB; 0: no cap. */
  readonly soft: number;
  readonly hard: number;
}

export type MemoryVerdict = 'fine' | 'replace' | 'end';

const MIB = 1024 * 1024;
/** An idle process that takes so much of one processor … */
const SPIN_SHARE = 0.8;
/** … for so long is turning in circles. */
export const SPIN_MS = 30_000;

export function judgeMemory(bytes: number, { soft, hard }: MemoryCaps, isolation: Isolation): MemoryVerdict {
  if (hard > 0 && bytes > hard * MIB) return 'end';
  // The state of a session lives in its process, so only the hard cap ends it (design §5 table).
  return isolation !== 'session' && soft > 0 && bytes > soft * MIB ? 'replace' : 'fine';
}

/** Since when an idle process takes a processor for itself; null: it does not. */
export function spinsSince(before: number | null, share: number, idle: boolean, at: number): number | null {
  return idle && share >= SPIN_SHARE ? (before ?? at) : null;
}
