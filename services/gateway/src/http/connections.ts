// Which connections serve a request right now, so that a drain cuts none of them short: Node's own closing takes a
// response for done as soon as it is written, while megabytes of it may still wait in the socket (GB-141).

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as Listener, type Socket } from 'node:net';

export interface Connections {
  serving(request: IncomingMessage, response: ServerResponse): void;
  /** From now on: no new connection is taken, idle ones end, and each of the others ends with its last response. */
  drain(): void;
  /** Calls back once, when nothing is being served. */
  whenQuiet(done: () => void): void;
  /** Calls back once, when none is left. */
  whenGone(done: () => void): void;
}

export function trackConnections(server: Server): Connections {
  /** Requests under way, by connection. */
  const open = new Map<Socket, number>();
  let served = 0;
  let draining = false;
  let quiet: (() => void) | null = null;
  let gone: (() => void) | null = null;

  function settle(): void {
    if (served === 0) {
      quiet?.();
      quiet = null;
    }
    if (open.size === 0) {
      gone?.();
      gone = null;
    }
  }

  server.on('connection', (socket: Socket) => {
    open.set(socket, 0);
    socket.once('close', () => {
      open.delete(socket);
      settle();
    });
  });

  return {
    serving({ socket }, response) {
      open.set(socket, (open.get(socket) ?? 0) + 1);
      served++;
      response.on('close', () => {
        const left = (open.get(socket) ?? 1) - 1;
        if (open.has(socket)) open.set(socket, left);
        if (draining && left === 0) socket.end();
        served--;
        settle();
      });
    },
    drain() {
      draining = true;
      // Only the listener: Node's own way of closing destroys idle connections, and what their clients are sending just
      // then would be reset. An end is seen by a client before it sends the next request.
      Listener.prototype.close.call(server);
      for (const [socket, count] of open) if (count === 0) socket.end();
    },
    whenQuiet(done) {
      quiet = done;
      settle();
    },
    whenGone(done) {
      gone = done;
      settle();
    },
  };
}
