// The legacy server of the matrix: the published SDK v1, which asks on the wire. One instance a session; where there are
// none, one a request.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  ResultSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type Json, NOTE, QUESTIONS, TOOLS } from './what-it-does.ts';

const ELICITATION = 'elicitation-of-the-server';

/** Tools that were grown outlive an instance that serves one request. */
const grown: string[] = [];
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const inputSchema = { type: 'object' as const };

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

async function ask(server: Server, name: string, extra: Extra) {
  const question = QUESTIONS[name]!;
  const id = name === 'url' ? { elicitationId: ELICITATION } : {};
  const asked = { ...question, params: { ...question.params, ...id } };
  const answer = await extra.sendRequest(asked as never, ResultSchema);
  if (name === 'url') await server.notification({ method: 'notifications/elicitation/complete', params: id as never });
  return text(answer);
}

/** Over HTTP on the stream of the call, which only the call's own way of telling reaches. */
async function log(server: Server, extra: Extra) {
  const params = { level: 'warning' as const, logger: 'matrix', data: { n: 1 } };
  if (extra.requestInfo) await extra.sendNotification({ method: 'notifications/message', params });
  else await server.sendLoggingMessage(params);
  return text('done');
}

async function call(server: Server, { name, args }: { name: string; args: Json }, extra: Extra) {
  if (QUESTIONS[name] !== undefined) return ask(server, name, extra);
  switch (name) {
    case 'progress':
      for (const progress of [1, 2]) {
        const token = extra._meta?.progressToken;
        if (token === undefined) continue;
        const told = { progressToken: token, progress, total: 2, message: `step ${progress}` };
        await extra.sendNotification({ method: 'notifications/progress', params: told });
      }
      return text('done');
    case 'log':
      return log(server, extra);
    case 'wait':
      await new Promise((resolve) => extra.signal.addEventListener('abort', resolve));
      return text('stopped');
    case 'grow':
      grown.push(String(args.tool));
      await server.sendToolListChanged();
      return text('done');
    default:
      await server.sendResourceUpdated({ uri: String(args.uri) });
      return text('done');
  }
}

export function createLegacyServer(): Server {
  const capabilities = {
    tools: { listChanged: true },
    prompts: {},
    resources: { subscribe: true },
    logging: {},
    completions: {},
  };
  const server = new Server({ name: 'matrix', version: '1.0.0' }, { capabilities });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...TOOLS, ...grown].map((name) => ({ name, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    call(server, { name: params.name, args: params.arguments ?? {} }, extra),
  );
  const prompts = [{ name: 'p', arguments: [{ name: 'who' }] }];
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ uri: NOTE, name: 'a' }] }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [{ uri: params.uri, text: 'a' }] }));
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
    completion: { values: [JSON.stringify([params.ref, params.argument, params.context ?? null])], total: 1 },
  }));
  return server;
}
