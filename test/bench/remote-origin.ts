// The bench's remote server: the echo server over bare node:http, as cheap as one can be. First argument: `modern`, or
// `legacy` with a session each; replies are JSON, as those of most servers that have nothing to stream.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Message, resultOf } from './echo.ts';

const legacy = process.argv[2] === 'legacy';
const isModern = ({ params }: Message) => params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;

function say(outgoing: ServerResponse, status: number, message: unknown, headers: Record<string, string> = {}): void {
  const body = Buffer.from(JSON.stringify(message));
  outgoing.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
  outgoing.end(body);
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (incoming.method !== 'POST') return void outgoing.writeHead(405).end();
  const message = JSON.parse((await buffer(incoming)).toString('utf8')) as Message;
  const { id, method } = message;
  if (id === undefined) return void outgoing.writeHead(202).end();
  const result = legacy === isModern(message) ? null : resultOf(message);
  if (result === null) {
    return say(outgoing, 404, { jsonrpc: '2.0', id, error: { code: -32601, message: `no method ${method}` } });
  }
  const session = legacy && method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {};
  return say(outgoing, 200, { jsonrpc: '2.0', id, result }, session as Record<string, string>);
}

const server = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch(() => outgoing.destroy());
});
server.keepAliveTimeout = 60_000;
server.maxConnections = 10_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${port}/mcp` }));
});
process.on('SIGTERM', () => process.exit(0));
