// What the bench's servers answer, over stdio and over HTTP alike: one tool, both eras.

const TOOL = {
  name: 'echo',
  description: 'Says it back.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
const INFO = { name: 'bench-echo', version: '1.0.0' };
const CACHE = { ttlMs: 300_000, cacheScope: 'public' };

export interface Message {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly protocolVersion?: string;
    readonly arguments?: { readonly text?: string };
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

export function resultOf(message: Message): Record<string, unknown> | null {
  const modern = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const envelope = modern ? { resultType: 'complete' } : {};
  switch (message.method) {
    case 'initialize':
      return { protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} }, serverInfo: INFO };
    case 'server/discover':
      return {
        ...envelope,
        ...CACHE,
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
      };
    case 'tools/list':
      return { ...envelope, ...(modern ? CACHE : {}), tools: [TOOL] };
    case 'tools/call':
      return { ...envelope, content: [{ type: 'text', text: message.params?.arguments?.text ?? '' }] };
    case 'ping':
      return {};
    default:
      return null;
  }
}
