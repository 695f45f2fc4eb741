// The matrix's modern server behind the published SDK v2 over HTTP. First argument: `modern` (2026-07-28 only), `dual`
// (legacy, too, statelessly) or `stateful` (legacy only, a session each). `--json` and `--sse` fix the form of replies.

import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { type Announce, createModernServer } from '../../matrix/servers/modern-server.ts';
import { listen, type Serve } from './listen.ts';

const [kind = 'modern'] = process.argv.slice(2);
const has = (flag: string) => process.argv.includes(flag);
const responseMode = has('--json') ? 'json' : has('--sse') ? 'sse' : 'auto';

function createPerRequest(): Serve {
  const announce: Announce = {
    toolsChanged: () => handler.notify.toolsChanged(),
    resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
  };
  const handler = createMcpHandler(() => createModernServer(announce), {
    legacy: kind === 'dual' ? 'stateless' : 'reject',
    responseMode,
  });
  const handle = toNodeHandler(handler);
  return (incoming, outgoing, body) => handle(incoming as never, outgoing, body);
}

function createStateful(): Serve {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (incoming, outgoing, body) => {
    const id = incoming.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(incoming, outgoing, body);
    if (id !== undefined) {
      const error = { code: -32001, message: 'Session not found' };
      return void outgoing.writeHead(404).end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    }
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: responseMode === 'json',
      onsessioninitialized: (fresh) => void sessions.set(fresh, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await createModernServer().connect(transport);
    return transport.handleRequest(incoming, outgoing, body);
  };
}

listen('/mcp', kind === 'stateful' ? createStateful() : createPerRequest());
