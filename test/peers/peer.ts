// The five published clients behind one face, as small as the table needs; their own quirks stay their own.

import { connectV1 } from '../harness/client-legacy.ts';
import { type ConnectOptions, connectV2 } from '../harness/client-modern.ts';

type Json = Readonly<Record<string, unknown>>;

/** Both SDKs' clients fit. */
export interface Peer {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: { name: string; arguments: Json }): Promise<Json>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  getPrompt(params: { name: string; arguments: Readonly<Record<string, string>> }): Promise<Json>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  readResource(params: { uri: string }): Promise<Json>;
  getServerVersion(): { readonly name: string } | undefined;
  close(): Promise<void>;
}

export interface PeerKind {
  readonly name: string;
  /** Protocol revision it must end up with; checked where the client tells. */
  readonly era: 'modern' | 'legacy';
  connect(url: string, options?: ConnectOptions): Promise<Peer>;
}

const fit = (client: unknown) => client as Peer;

export const PEERS: readonly PeerKind[] = [
  {
    name: 'SDK v2, pinned to 2026-07-28',
    era: 'modern',
    connect: async (url, options) => fit(await connectV2(url, 'pinned', options)),
  },
  { name: 'SDK v2, auto', era: 'modern', connect: async (url, options) => fit(await connectV2(url, 'auto', options)) },
  {
    name: 'SDK v2, legacy',
    era: 'legacy',
    connect: async (url, options) => fit(await connectV2(url, 'legacy', options)),
  },
  {
    name: 'SDK v1 over Streamable HTTP',
    era: 'legacy',
    connect: async (url, options) => fit(await connectV1(url, 'streamable', options)),
  },
  {
    name: 'SDK v1 over HTTP+SSE',
    era: 'legacy',
    connect: async (url, options) => fit(await connectV1(url, 'sse', options)),
  },
];
