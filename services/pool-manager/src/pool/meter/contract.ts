// What a child and all it has started use of the machine. Read by child/, judged here.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';

export interface Usage {
  /** Resident; pages that several of them share are counted in each, so it is an upper bound. */
  readonly memoryBytes: number;
  /** Of processor time, since each of them began. */
  readonly cpuMs: number;
  readonly processes: readonly number[];
}

export interface UsageReader {
  /** By the pid of a child, which leads its session. Without /proc there is nothing to read: an empty map. */
  read(leaders: ReadonlySet<number>): Promise<ReadonlyMap<number, Usage>>;
  /** Each page counted once. Dearer, so only asked of what seems to be over its cap; null: it cannot be told. */
  exactBytes(processes: readonly number[]): Promise<number | null>;
}

/** A process that no pool lends (yet, or any more): it starts, is asked what it is, or is on its way out. */
export interface Unlent {
  readonly pid: number;
  readonly spec: ServerSpec;
  /** At once, in these words. */
  end(words: string): void;
}
