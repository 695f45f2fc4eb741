// A Redis that can restart: one address, behind it first one server and then another, empty one, as after a restart
// without persistence. Nobody is answered between.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type StartedRedis, startEmptyRedis } from '../harness/redis.ts';

export interface Restartable {
  readonly url: string;
  /** The one that answers now, directly. */
  readonly direct: () => string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRestartable(): Promise<Restartable> {
  let behind: StartedRedis | null = await startEmptyRedis();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (behind === null) return client.destroy();
    const { hostname, port } = new URL(behind.url);
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    direct: () => behind!.url,
    async restart() {
      const old = behind;
      behind = null;
      for (const socket of sockets) socket.destroy();
      await old?.stop();
      behind = await startEmptyRedis();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await behind?.stop();
    },
  };
}
