// A TCP relay in front of Redis that a test can cut, refuse or freeze: an outage without touching the Redis others use.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections and swallows what comes. */
  freeze(): void;
  /** Works again. */
  mend(): Promise<void>;
  readonly connections: number;
  close(): Promise<void>;
}

export async function openRelay(redisUrl: string): Promise<Relay> {
  const target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  let frozen = false;

  const server = createServer((near) => {
    const far = connect(Number(target.port || 6379), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (chunk) => frozen || far.write(chunk));
    far.on('data', (chunk) => frozen || near.write(chunk));
  });

  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(redisUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);

  return {
    url: url.href,
    cut,
    freeze: () => {
      frozen = true;
    },
    async mend() {
      frozen = false;
      if (!server.listening) await listen(port);
    },
    get connections() {
      return sockets.size / 2;
    },
    close: cut,
  };
}
