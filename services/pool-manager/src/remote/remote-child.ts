// A remote session as the `Child` that it is to everything above: what all transports have in common. Its end is told once,
// after everything else, and never while its beginning still runs.

import type { Child, ExitCause, ExitReason, Line } from '../child/contract.ts';
import type { RemoteHost } from './host.ts';

export interface Transport {
  /** Never after the end. */
  send(message: Line): boolean;
  takes(): boolean;
  forget(id: number): void;
  /** The session has ended: lets go of everything. What fails by it is told first. Called once; never rejects. */
  leave(kind: ExitReason['kind'], words: string): Promise<void>;
}

export interface Life {
  readonly ended: boolean;
  /** Only the first one counts. */
  end(kind: ExitReason['kind'], words: string, cause?: ExitCause): void;
}

export function createRemoteChild(host: RemoteHost, open: (life: Life) => Transport): Child {
  const startedAt = host.clock.now();
  let exited: ExitReason | null = null;
  let left: Promise<void> = Promise.resolve();
  const life: Life = {
    get ended() {
      return exited !== null;
    },
    end(kind, words, cause) {
      if (exited !== null) return;
      const told: ExitReason = { kind, ...(cause && { cause }), code: null, signal: null, words };
      exited = told;
      host.valve.open();
      left = transport.leave(kind, words).then(() => host.close());
      process.nextTick(() => host.events.exit(told));
    },
  };
  const transport = open(life);
  return {
    pid: undefined,
    startedAt,
    get exited() {
      return exited;
    },
    send: (message) => exited === null && transport.send(message),
    takes: () => exited === null && transport.takes() && host.takes(),
    forget: (id) => transport.forget(id),
    pause: () => host.valve.shut(),
    resume: () => host.valve.open(),
    stderrTail: () => '',
    stop(why, _how, cause) {
      life.end('stopped', why, cause);
      return left;
    },
  };
}
