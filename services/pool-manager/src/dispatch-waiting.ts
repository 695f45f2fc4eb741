// What a caller who wants progress hears as long as there is no process for its call: published clients give a request up
// after a minute without any, and a cold start may take longer (protocol.md §4.7). Whoever asked for none hears nothing
// (GB-084); its stream is kept alive by comments.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import type { Clock, Timer } from '@lockkeeper/state/clock';

/** So small that the server's own progress, which begins later, still rises (26/progress "MUST increase"). */
const STEP = 0.000_001;

export async function telling<T>(
  work: Promise<T>,
  clock: Clock,
  everyMs: number,
  tell: (method: string, members: Uint8Array) => void,
): Promise<T> {
  let told = 0;
  let timer: Timer;
  const next = (): void => {
    told++;
    const progress = (told * STEP).toFixed(6);
    tell('notifications/progress', bytesOf(`"progress":${progress},"message":"Waiting for a process of the server"`));
    timer = clock.setTimer(everyMs, next);
  };
  timer = clock.setTimer(everyMs, next);
  try {
    return await work;
  } finally {
    timer.clear();
  }
}
