// The catalogue on the published SDK v1, low-level server: a legacy MCP server that asks its client on the wire, and asks
// without looking at what the client declared (as real ones do), so that refusals in between can be seen.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  ResultSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { ASKING_TOOLS } from './asking-tools.ts';
import { type Call, type Json, NO_ARGUMENTS, type Question } from './catalogue.ts';
import { PLAIN_TOOLS } from './plain-tools.ts';
import { complete, PROMPTS } from './prompts.ts';
import { listed, read, TEMPLATES } from './resources.ts';

interface Extra {
  readonly _meta?: { readonly progressToken?: string | number } | undefined;
  readonly sendNotification: (notification: ServerNotification) => Promise<void>;
  readonly sendRequest: (request: ServerRequest, schema: typeof ResultSchema) => Promise<unknown>;
  readonly closeSSEStream?: () => void;
}

const TOOLS = [...PLAIN_TOOLS, ...ASKING_TOOLS];

/** Lists that a call can change: what comes and goes at their end. */
interface Comings {
  tools: boolean;
  prompts: boolean;
}

function callOf(server: Server, comings: Comings, args: Json, extra: Extra): Call {
  const token = extra._meta?.progressToken;
  const tell = (method: string, params: Json) => extra.sendNotification({ method, params } as ServerNotification);
  const put = async (question: Question) => (await extra.sendRequest(question as ServerRequest, ResultSchema)) as Json;
  return {
    args,
    declared: (server.getClientCapabilities() ?? {}) as Json,
    progressToken: token,
    progress: async (progress, total) => {
      if (token !== undefined) await tell('notifications/progress', { progressToken: token, progress, total });
    },
    log: (level, data) => tell('notifications/message', { level, logger: 'fixture', data }),
    ask: async (questions) => {
      const pairs = Object.entries(questions).map(async ([key, question]) => [key, await put(question)] as const);
      return Object.fromEntries(await Promise.all(pairs));
    },
    changed: async (list) => {
      comings[list] = !comings[list];
      await (list === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged());
    },
    dropStream: () => extra.closeSSEStream?.(),
  };
}

function serveTools(server: Server, comings: Comings): void {
  const guest = { name: 'test_guest', description: 'Comes and goes.', inputSchema: NO_ARGUMENTS };
  server.setRequestHandler(ListToolsRequestSchema, () => {
    const tools = TOOLS.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    return { tools: (comings.tools ? [...tools, guest] : tools) as never };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS.find(({ name }) => name === params.name);
    if (!tool) throw new McpError(-32602, `Unknown tool: ${params.name}`);
    const call = callOf(server, comings, params.arguments ?? {}, extra as unknown as Extra);
    try {
      return { ...(await tool.run(call)) };
    } catch (error) {
      return { content: [{ type: 'text' as const, text: String(error) }], isError: true };
    }
  });
}

function servePrompts(server: Server, comings: Comings): void {
  const guest = { name: 'test_guest_prompt', description: 'Comes and goes.' };
  server.setRequestHandler(ListPromptsRequestSchema, () => {
    const prompts = PROMPTS.map(({ get: _get, ...prompt }) => prompt);
    return { prompts: (comings.prompts ? [...prompts, guest] : prompts) as never };
  });
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name);
    if (!prompt) throw new McpError(-32602, `Unknown prompt: ${params.name}`);
    return { ...(await prompt.get(callOf(server, comings, params.arguments ?? {}, extra as unknown as Extra))) };
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => complete(params as unknown as Json) as never);
}

function serveResources(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: listed() as never }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: TEMPLATES as never }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    const found = read(params.uri);
    if (!found) throw new McpError(-32002, 'Resource not found', { uri: params.uri });
    return { ...found };
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
}

export function createV1Server(): Server {
  const server = new Server(
    { name: 'fixture-legacy', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      instructions: 'A fixture for the conformance suite.',
    },
  );
  const comings = { tools: false, prompts: false };
  serveTools(server, comings);
  servePrompts(server, comings);
  serveResources(server);
  return server;
}
