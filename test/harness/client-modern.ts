// The published SDK v2 client as a peer, in each of its three ways to choose an era. Not ours, on purpose: what it refuses
// or repairs is what real clients refuse and repair.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export type Negotiation = 'pinned' | 'auto' | 'legacy';

export interface ConnectOptions {
  readonly token?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly fetch?: typeof fetch;
}

export async function connectV2(url: string, how: Negotiation, options: ConnectOptions = {}): Promise<Client> {
  const mode = how === 'pinned' ? { pin: '2026-07-28' } : how;
  const client = new Client(
    { name: `peer-v2-${how}`, version: '1.0.0' },
    { capabilities: { ...options.capabilities } as never, versionNegotiation: { mode } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...(options.token !== undefined && { requestInit: { headers: { authorization: `Bearer ${options.token}` } } }),
    ...(options.fetch && { fetch: options.fetch }),
  });
  await client.connect(transport);
  return client;
}
