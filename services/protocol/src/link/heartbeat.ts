// Says when a peer is dead: pings both lanes, and gives up when one was silent for too long. A silence that was our
// own (the event loop stood still) is not held against the peer.

import type { Lane } from './lane.ts';

export interface HeartbeatDeps {
  readonly lanes: readonly Lane[];
  readonly clock: { now(): number; setTimer(ms: number, run: () => void): { clear(): void } };
  readonly intervalMs: number;
  readonly deadMs: number;
  readonly dead: (reason: string) => void;
}

export interface Heartbeat {
  stop(): void;
}

export const HEARTBEAT_MS = 1_000;
export const DEAD_MS = 5_000;

export function startHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { lanes, clock, intervalMs, deadMs } = deps;
  let n = 0;
  let due = clock.now() + intervalMs;
  let timer = clock.setTimer(intervalMs, beat);

  function beat(): void {
    const now = clock.now();
    const ownSilence = now - due > intervalMs;
    for (const lane of lanes) {
      if (ownSilence) lane.heardAt = now;
      if (now - lane.heardAt > deadMs) {
        deps.dead(`silent for ${now - lane.heardAt} ms`);
        return;
      }
    }
    n += 1;
    for (const lane of lanes) lane.control({ kind: 'ping', n, reply: false });
    due = now + intervalMs;
    timer = clock.setTimer(intervalMs, beat);
  }

  return { stop: () => timer.clear() };
}
