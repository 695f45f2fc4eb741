// The tasks fixtures of the conformance folder over HTTP. First argument: `modern` (the extension) or `legacy` (tasks of
// 2025-11-25 on the published SDK v1, a session each).

import { randomUUID } from 'node:crypto';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { takeTasks } from '../../conformance/catalogue/serve-tasks.ts';
import { createTasksV1 } from '../../conformance/catalogue/serve-tasks-v1.ts';
import { listen, type Serve } from './listen.ts';

type Json = Readonly<Record<string, unknown>>;

const modern: Serve = (incoming, outgoing, body) => {
  if (incoming.method !== 'POST') return void outgoing.writeHead(405, { allow: 'POST' }).end();
  takeTasks(body as Record<string, unknown>, (message) => {
    const { code } = (message.error ?? {}) as { code?: number };
    const status = code === -32601 ? 404 : code === -32021 || code === -32022 ? 400 : 200;
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message));
  });
  if ((body as Json).id === undefined) outgoing.writeHead(202).end();
};

function createLegacy(): Serve {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (incoming, outgoing, body) => {
    const id = incoming.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(incoming, outgoing, body);
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (fresh) => void sessions.set(fresh, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await createTasksV1(true).connect(transport as unknown as Transport);
    return transport.handleRequest(incoming, outgoing, body);
  };
}

listen('/mcp', process.argv[2] === 'legacy' ? createLegacy() : modern);
