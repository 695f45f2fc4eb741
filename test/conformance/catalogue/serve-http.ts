// A fetch-shaped MCP handler behind node:http on a free loopback port, with the Host and Origin check the suite looks for.
// Only for measuring the fixtures without Lockkeeper.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type Handler = (request: Request) => Promise<Response>;

const OWN = new Set(['localhost', '127.0.0.1', '[::1]']);

function foreign(value: string | undefined): boolean {
  return value !== undefined && !OWN.has(value.replace(/^https?:\/\//, '').replace(/:\d+$/, ''));
}

async function relay(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (foreign(incoming.headers.host) || foreign(incoming.headers.origin)) {
    outgoing.writeHead(403).end();
    return;
  }
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const body = incoming.method === 'POST' ? await buffer(incoming) : null;
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    body,
    signal: gone.signal,
  });
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body) {
    for await (const chunk of response.body) {
      if (outgoing.destroyed) break;
      outgoing.write(chunk);
    }
  }
  outgoing.end();
}

/** Prints one JSON line `{"ready":true,"url":…}` and serves until the process is told to end. */
export function serveHttp(handler: Handler): void {
  const server = createServer((incoming, outgoing) => {
    relay(handler, incoming, outgoing).catch((error: unknown) => {
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
      if (!outgoing.destroyed) console.error(error);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${port}/mcp` }));
  });
}
