// The legacy server of the matrix: the published SDK v1, which asks on the wire.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  ResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { NOTE, QUESTIONS, TOOLS } from './what-it-does.ts';

const ELICITATION = 'elicitation-of-the-server';

const server = new Server(
  { name: 'matrix', version: '1.0.0' },
  {
    capabilities: {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      logging: {},
      completions: {},
    },
  },
);
const grown: string[] = [];
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const inputSchema = { type: 'object' as const };

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [...TOOLS, ...grown].map((name) => ({ name, inputSchema })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
  const question = QUESTIONS[params.name];
  if (question !== undefined) {
    const id = params.name === 'url' ? { elicitationId: ELICITATION } : {};
    const asked = { ...question, params: { ...question.params, ...id } };
    const answer = await extra.sendRequest(asked as never, ResultSchema);
    if (params.name === 'url') {
      await server.notification({ method: 'notifications/elicitation/complete', params: id as never });
    }
    return text(answer);
  }
  switch (params.name) {
    case 'progress':
      for (const progress of [1, 2]) {
        const token = extra._meta?.progressToken;
        if (token === undefined) continue;
        const told = { progressToken: token, progress, total: 2, message: `step ${progress}` };
        await extra.sendNotification({ method: 'notifications/progress', params: told });
      }
      return text('done');
    case 'log':
      await server.sendLoggingMessage({ level: 'warning', logger: 'matrix', data: { n: 1 } });
      return text('done');
    case 'wait':
      await new Promise((resolve) => extra.signal.addEventListener('abort', resolve));
      return text('stopped');
    case 'grow':
      grown.push(String(params.arguments?.tool));
      await server.sendToolListChanged();
      return text('done');
    default:
      await server.sendResourceUpdated({ uri: String(params.arguments?.uri) });
      return text('done');
  }
});
server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [{ name: 'p', arguments: [{ name: 'who' }] }] }));
server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ uri: NOTE, name: 'a' }] }));
server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [{ uri: params.uri, text: 'a' }] }));
server.setRequestHandler(SubscribeRequestSchema, () => ({}));
server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
  completion: { values: [JSON.stringify([params.ref, params.argument, params.context ?? null])], total: 1 },
}));
await server.connect(new StdioServerTransport());
