// The matrix's legacy server behind the published SDK v1 over HTTP. First argument: `stateful` (a session each),
// `stateless` (an instance a request) or `sse` (HTTP+SSE of 2024-11-05); `--json` for replies that are no streams.

import { randomUUID } from 'node:crypto';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createLegacyServer } from '../../matrix/servers/legacy-server.ts';
import { listen, type Serve } from './listen.ts';

const [kind = 'stateful'] = process.argv.slice(2);
const enableJsonResponse = process.argv.includes('--json');

const connect = (server: Server, transport: unknown) => server.connect(transport as Transport);
const sayNo = (code: number, message: string) => JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });

const stateless: Serve = async (incoming, outgoing, body) => {
  if (incoming.method !== 'POST')
    return void outgoing.writeHead(405, { allow: 'POST' }).end(sayNo(-32000, 'No stream'));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse } as never);
  const server = createLegacyServer();
  outgoing.on('close', () => void server.close());
  await connect(server, transport);
  await transport.handleRequest(incoming, outgoing, body);
};

function createStateful(): Serve {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (incoming, outgoing, body) => {
    const id = incoming.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(incoming, outgoing, body);
    if (id !== undefined) return void outgoing.writeHead(404).end(sayNo(-32001, 'Session not found'));
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse,
      onsessioninitialized: (fresh) => void sessions.set(fresh, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await connect(createLegacyServer(), transport);
    return transport.handleRequest(incoming, outgoing, body);
  };
}

function createSse(): Serve {
  const sessions = new Map<string, SSEServerTransport>();
  return async (incoming, outgoing, body) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://fixture');
    if (incoming.method === 'GET' && pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', outgoing);
      sessions.set(transport.sessionId, transport);
      const server = createLegacyServer();
      outgoing.on('close', () => {
        sessions.delete(transport.sessionId);
        void server.close();
      });
      return connect(server, transport);
    }
    // Servers of that age know no POST where the stream is.
    if (pathname !== '/messages') return void outgoing.writeHead(pathname === '/sse' ? 405 : 404).end();
    const transport = sessions.get(searchParams.get('sessionId') ?? '');
    if (!transport) return void outgoing.writeHead(404).end('Session not found');
    return transport.handlePostMessage(incoming, outgoing, body);
  };
}

if (kind === 'sse') listen('/sse', createSse());
else listen('/mcp', kind === 'stateless' ? stateless : createStateful());
