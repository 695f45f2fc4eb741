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

const LONGEST_MS = 20_000;

const fresh = () => fork(fileURLToPath(new URL('./load.ts', import.meta.url)));

export function startLoader(): Loader {
  let child: ChildProcess = fresh();
  return {
    async run(wish) {
      const answered = once(child, 'message');
      child.send(wish);
      try {
        const [answer] = (await within(answered, wish.durationMs + LONGEST_MS, 'an answer to every call')) as [
          LoadResult | { failed: string },
        ];
        if ('failed' in answer) throw new Error(`${wish.url}: ${answer.failed}`);
        return answer;
      } catch (error) {
        // Calls of the failed run may still be open in it; the next run must not meet them.
        answered.catch(() => {});
        child.kill('SIGKILL');
        child = fresh();
        throw error;
      }
    },
    close: () => child.disconnect(),
  };
}
