// A child's process group: `npx` and shell wrappers end without the server they started, so signals go to all of it
// (GB-015).

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** False when there is nobody left to signal. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * After the leader's end: SIGTERM, wait, SIGKILL what remains. A zombie that PID 1 does not reap counts as alive, so the
 * last wait is bounded too.
 */
export async function endGroup(leader: number, termMs: number, goneMs: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return;
  if (await gone(leader, termMs)) return;
  signalGroup(leader, 'SIGKILL');
  await gone(leader, goneMs);
}

async function gone(leader: number, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += POLL_MS) {
    if (!signalGroup(leader, 0)) return true;
    await delay(POLL_MS);
  }
  return !signalGroup(leader, 0);
}
