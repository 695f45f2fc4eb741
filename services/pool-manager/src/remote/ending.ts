// The end of a remote session: told once, after everything else, and never while its beginning still runs.

import type { ChildEvents, ExitCause, ExitReason } from '../child/contract.ts';

export interface Ending {
  readonly reason: ExitReason | null;
  /** Only the first one counts. */
  end(kind: ExitReason['kind'], words: string, cause?: ExitCause): void;
}

export function createEnding(events: Pick<ChildEvents, 'exit'>): Ending {
  let reason: ExitReason | null = null;
  return {
    get reason() {
      return reason;
    },
    end(kind, words, cause) {
      if (reason !== null) return;
      const told: ExitReason = { kind, ...(cause && { cause }), code: null, signal: null, words };
      reason = told;
      process.nextTick(() => events.exit(told));
    },
  };
}
