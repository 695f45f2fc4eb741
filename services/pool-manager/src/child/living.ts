// Every child of this node that runs, wherever it is on its way: probes, spares and those that only start, too. The meter
// looks at them all, since a server may take memory long before it has said a word.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Child, Spawn } from './contract.ts';

export interface Running {
  readonly pid: number;
  readonly spec: ServerSpec;
  /** At once; whoever has it or waits for it is told these words. */
  end(words: string): void;
}

export interface Living {
  readonly spawn: Spawn;
  children(): readonly Running[];
}

export function createLiving(spawn: Spawn): Living {
  const all = new Map<Child, ServerSpec>();

  function forgetDead(): void {
    for (const child of all.keys()) if (child.exited !== null) all.delete(child);
  }

  /** Once: from now on its end is under way. */
  function end(child: Child, words: string): void {
    // Never rejects.
    if (all.delete(child)) void child.stop(words, 'now');
  }

  return {
    spawn(spec, events) {
      forgetDead();
      const child = spawn(spec, events);
      all.set(child, spec);
      return child;
    },
    children() {
      forgetDead();
      return [...all].flatMap(([child, spec]) => {
        const { pid } = child;
        return pid === undefined ? [] : [{ pid, spec, end: (words: string) => end(child, words) }];
      });
    },
  };
}
