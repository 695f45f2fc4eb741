// HTTP servers of a few lines, and doors to them.

import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpSpec, ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { RemoteDoor, RemoteDoors, RemoteRequest, RemoteResponse } from '../../../src/remote/contract.ts';
import type { Resolve } from '../../../src/remote/fetch/connect.ts';
import { createRemoteDoors } from '../../../src/remote/fetch/doors.ts';

export const LOOPBACK = ['127.0.0.0/8', '::1/128'];

export function remoteSpec(url: string, more: Partial<HttpSpec> = {}): ServerSpec {
  return {
    name: 'far',
    tenant: 'acme',
    http: {
      url,
      transport: 'auto',
      headers: {},
      plain: true,
      cidrs: LOOPBACK,
      maxConnections: 8,
      maxSessions: 64,
      connectMs: 5_000,
      headersMs: 5_000,
      idleStreamMs: 5_000,
      maxHeaderBytes: 16_384,
      ...more,
    },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    pool: { max: 8, minWarm: 0, idleMs: 60_000, maxAgeMs: 60_000, maxUses: 1_000 },
    era: 'auto',
    startTimeoutMs: 5_000,
    callTimeoutMs: 5_000,
    digest: JSON.stringify([url, more]),
  };
}

/** Host names that these tests know. */
export const resolveTo =
  (names: Readonly<Record<string, readonly string[]>>): Resolve =>
  (host, done) => {
    const found = names[host];
    if (found === undefined) return done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };

export interface Stage {
  serve(
    listener: RequestListener,
  ): Promise<{ readonly port: number; readonly server: Server; readonly sockets: () => number }>;
  doors(resolve?: Resolve): RemoteDoors;
  close(): Promise<void>;
}

export function createStage(): Stage {
  const endings: (() => Promise<void> | void)[] = [];
  return {
    async serve(listener) {
      const server = createServer(listener);
      let sockets = 0;
      server.on('connection', () => sockets++);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      endings.push(() => {
        server.closeAllConnections();
        server.close();
      });
      return { port: (server.address() as AddressInfo).port, server, sockets: () => sockets };
    },
    doors(resolve) {
      const doors = createRemoteDoors({
        log: { warn: () => {} },
        userAgent: 'lockkeeper/test',
        ...(resolve && { resolve }),
      });
      endings.unshift(() => doors.close());
      return doors;
    },
    async close() {
      for (const end of endings.splice(0)) await end();
    },
  };
}

export function post(body: string, more: Partial<RemoteRequest> = {}): RemoteRequest {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return { method: 'POST', headers, body: Buffer.from(body), signal: new AbortController().signal, ...more };
}

export function get(more: Partial<RemoteRequest> = {}): RemoteRequest {
  return { method: 'GET', headers: { accept: 'text/event-stream' }, signal: new AbortController().signal, ...more };
}

export async function textOf(response: RemoteResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export async function ask(door: RemoteDoor, request = post('{}')): Promise<string> {
  return textOf(await door.send(request));
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export const echo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  response.end(await bodyOf(request));
};
