// Which connections of a door have nothing running over them, so that one can give way to who has none, also while others
// of the same door are in use: after a burst on the shared door most of its connections only rest.

import type { Socket } from 'node:net';
import { type buildConnector, Client, type Pool } from 'undici';

export interface Resting {
  /** Of the door's pool: each client has one connection. */
  readonly factory: NonNullable<Pool.Options['factory']>;
  /** Ends one that rests; false: there is none. */
  letGo(): boolean;
}

export function createResting(connect: buildConnector.connector): Resting {
  const standing = new Map<Socket, Client>();
  return {
    factory(origin, options) {
      const client = new Client(origin, {
        ...options,
        connect(place, done) {
          connect(place, (...result) => {
            const [, socket] = result;
            if (socket !== null) {
              standing.set(socket, client);
              socket.once('close', () => standing.delete(socket));
            }
            done(...result);
          });
        },
      });
      return client;
    },
    letGo() {
      for (const [socket, client] of standing) {
        if (client.stats.size > 0) continue;
        standing.delete(socket);
        socket.destroy();
        return true;
      }
      return false;
    },
  };
}
