// One connection of a session's own, for what comes one after another, and the shared ones for what runs beside it: a
// server behind a load balancer finds its session again (GB-002), and a session costs one connection and not many.

import { setImmediate } from 'node:timers/promises';
import type { RemoteDoor } from './contract.ts';
import { untilEnd } from './seats.ts';

export function createPinnedDoor(own: RemoteDoor, shared: RemoteDoor): RemoteDoor {
  let busy = false;
  return {
    async send(request) {
      if (busy) {
        // Not before what was sent a moment ago on the own one, which waits for a turn of the loop.
        await setImmediate();
        return shared.send(request);
      }
      busy = true;
      const over = () => {
        busy = false;
      };
      try {
        return untilEnd(await own.send(request), request, over);
      } catch (error) {
        over();
        throw error;
      }
    },
    close: () => own.close(),
  };
}
