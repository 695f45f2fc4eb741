// Whether a call that was lost with its process, or with its session at a remote server, goes once more (design §2):
// what has no side effects, and what is known not to have reached its server. Everything else may have run in part.

import type { Open } from '@lockkeeper/protocol/link/frames';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Clock } from '@lockkeeper/state/clock';
import type { Connection, FaultHead } from './raise/contract.ts';

/** A connection that lost one request and lives on is not waited for. */
const HEARD_MS = 250;

export function isSafe({ method }: Pick<Open, 'method'>): boolean {
  return (MODERN_METHODS.get(method) ?? LEGACY_METHODS.get(method))?.safe === true;
}

export function mayGoAgain(head: Pick<Open, 'method'>, fault: FaultHead): boolean {
  return fault.reason === 'lost' && (!fault.mayHaveRun || isSafe(head));
}

/** Settles when the pool has heard of the end too: before, it would lend the dead one again. */
export function heardOf(dead: Connection, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(HEARD_MS, resolve);
    void dead.closed.then(() => {
      timer.clear();
      resolve();
    });
  });
}
