// The one scenario that is not a ratio: 256 parallel calls of 1 MB to one child, and small calls to another child beside
// them. Memory must stay bounded and the small calls quick (issue: p50 within three times their own alone).

import { memoryMb } from '../harness/process-tree.ts';
import { startLoader } from './loader.ts';
import type { Measured } from './targets.ts';
import type { LoadResult, LoadWish } from './wishes.ts';

export interface Flood {
  readonly alone: LoadResult;
  readonly beside: LoadResult;
  readonly large: LoadResult;
  readonly ratio: number;
  readonly peaks: readonly { readonly name: string; readonly peak: number }[];
}

const SMALL = { payload: 200, concurrency: 4, atLeast: 20 };
const LARGE = { payload: 1024 * 1024, concurrency: 256, atLeast: 2 };

/** Small calls until the large ones are through. */
async function beside(wish: LoadWish, until: Promise<unknown>): Promise<LoadResult> {
  const loader = startLoader();
  const results: LoadResult[] = [];
  let over = false;
  const end = () => {
    over = true;
  };
  until.then(end, end);
  try {
    do results.push(await loader.run(wish));
    while (!over);
  } finally {
    loader.close();
  }
  // The last slice may lie half outside the flood.
  const inside = results.length > 1 ? results.slice(0, -1) : results;
  const sorted = [...inside].sort((a, b) => a.p50 - b.p50);
  return sorted[Math.floor(sorted.length / 2)]!;
}

export async function measureFlood(target: Measured): Promise<Flood> {
  const small: LoadWish = { ...target.other, ...SMALL, durationMs: 500 };
  const loader = startLoader();
  try {
    await loader.run(small);
    const alone = await loader.run({ ...small, durationMs: 1_500 });
    const flood = loader.run({ ...target.request, ...LARGE, durationMs: 4_000 });
    const [large, quick] = await Promise.all([flood, beside(small, flood)]);
    const peaks = target.services.map(({ name, pid }) => ({ name, peak: memoryMb(pid).peak }));
    return { alone, beside: quick, large, ratio: quick.p50 / alone.p50, peaks };
  } finally {
    loader.close();
  }
}
