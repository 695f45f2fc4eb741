// What stands in front of gateways: asks each whether it is ready, and sends to those that were. It learns of a change a
// little later, as they all do.

import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from './random.ts';
import type { Stage } from './stage.ts';

export interface Balancer {
  /** The index of a gateway that takes requests. */
  pick(random: Random): number;
  readonly takes: ReadonlySet<number>;
  close(): Promise<void>;
}

const EVERY_MS = 250;

export function startBalancer(stage: Stage): Balancer {
  const takes = new Set(stage.gateways.keys());
  const ask = async (): Promise<void> => {
    for (const [index, { admin }] of stage.gateways.entries()) {
      const status = await fetch(`${admin}/readyz`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) takes.add(index);
      else takes.delete(index);
    }
  };
  let over = false;
  const asking = (async () => {
    for (; !over; await pause(EVERY_MS)) await ask();
  })();
  return {
    takes,
    pick: (random) => random.one([...takes]),
    async close() {
      over = true;
      await asking;
    },
  };
}
