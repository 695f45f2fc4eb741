// The bench's hold on its load process: one wish at a time, one result back, never forever.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { within } from '../harness/eventually.ts';
import type { LoadResult, LoadWish } from './wishes.ts';

export interface Loader {
  run(wish: LoadWish): Promise<LoadResult>;
  close(): void;
}

const LONGEST_MS = 60_000;

export function startLoader(): Loader {
  const child: ChildProcess = fork(fileURLToPath(new URL('./load.ts', import.meta.url)));
  return {
    async run(wish) {
      child.send(wish);
      const [answer] = (await within(once(child, 'message'), LONGEST_MS, `load on ${wish.url}`)) as [
        LoadResult | { failed: string },
      ];
      if ('failed' in answer) throw new Error(`${wish.url}: ${answer.failed}`);
      return answer;
    },
    close: () => child.disconnect(),
  };
}
