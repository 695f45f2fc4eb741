// Which connections serve a request right now, so that a drain cuts none of them short: Node's own closing takes a
// response for done as soon as it is written, while megabytes of it may still wait in the socket (GB-141).

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connections {
  serving(request: IncomingMessage, response: ServerResponse): void;
  /** From now on: no new connection, idle ones go, and each goes with its last response. */
  drain(): void;
  /** Calls back once, when nothing is being served. */
  whenQuiet(done: () => void): void;
}

export function trackConnections(server: Server): Connections {
  /** Requests under way, by connection. */
  const open = new Map<Socket, number>();
  let served = 0;
  let draining = false;
  let quiet: (() => void) | null = null;

  function settle(): void {
    if (served > 0 || quiet === null) return;
    const done = quiet;
    quiet = null;
    done();
  }

  server.on('connection', (socket: Socket) => {
    if (draining) {
      socket.destroy();
      return;
    }
    open.set(socket, 0);
    socket.once('close', () => open.delete(socket));
  });

  return {
    serving({ socket }, response) {
      open.set(socket, (open.get(socket) ?? 0) + 1);
      served++;
      response.once('close', () => {
        const left = (open.get(socket) ?? 1) - 1;
        if (open.has(socket)) open.set(socket, left);
        if (draining && left === 0) socket.destroySoon();
        served--;
        settle();
      });
    },
    drain() {
      draining = true;
      for (const [socket, count] of open) if (count === 0) socket.destroy();
    },
    whenQuiet(done) {
      quiet = done;
      settle();
    },
  };
}
