// The published SDK v1 client as a peer, over Streamable HTTP and over the HTTP+SSE transport of 2024-11-05.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { ConnectOptions } from './client-modern.ts';

export type LegacyTransport = 'streamable' | 'sse';

/** `url` is the route's `/mcp`; for `sse` its sibling `/sse` is taken. */
export async function connectV1(url: string, how: LegacyTransport, options: ConnectOptions = {}): Promise<Client> {
  const client = new Client(
    { name: `peer-v1-${how}`, version: '1.0.0' },
    { capabilities: { ...options.capabilities } as never },
  );
  const requestInit = options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } };
  const more = { requestInit, ...(options.fetch && { fetch: options.fetch }) };
  const transport =
    how === 'sse'
      ? new SSEClientTransport(new URL(url.replace(/\/mcp$/, '/sse')), more)
      : new StreamableHTTPClientTransport(new URL(url), more);
  await client.connect(transport as Transport);
  return client;
}
