// What the HTTP fixtures on published SDKs share: a free loopback port (or PORT), a ready line, and, where RECORD names a
// file, everything that is sent and said, one JSON object a line.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createRecorder } from './recorder.ts';

export type Serve = (incoming: IncomingMessage, outgoing: ServerResponse, body: unknown) => Promise<void> | void;

async function answer(serve: Serve, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const text = incoming.method === 'POST' ? (await buffer(incoming)).toString('utf8') : '';
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  recorder?.told(incoming, body);
  recorder?.listenIn(outgoing);
  await serve(incoming, outgoing, body);
}

const file = process.env.RECORD;
const recorder = file === undefined ? null : createRecorder(file);

/** Prints `{"ready":true,"url":…}` and serves until the process is told to end. */
export function listen(path: string, serve: Serve): void {
  const server = createServer((incoming, outgoing) => {
    answer(serve, incoming, outgoing).catch((error: unknown) => {
      console.error(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    });
  });
  // Ours must not be the end that closes an idle connection: tests that want it have the raw upstream.
  server.keepAliveTimeout = 60_000;
  server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${port}${path}` }));
  });
  process.on('SIGTERM', () => process.exit(0));
}
