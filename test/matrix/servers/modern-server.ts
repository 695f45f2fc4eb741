// The modern server of the matrix: the published SDK v2, which ends its round with `input_required`. Its state is plain
// text, so that the tests can see that it comes back as it went. Over stdio an instance a process, over HTTP one a request.

import { fromJsonSchema, inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { type Json, NOTE, QUESTIONS, TOOLS } from './what-it-does.ts';

/** With what JSON and URLs would change, were it not handed back as it is. */
const STATE = 'state of the server: {"é": 1.0} %2F+/=';

const inputSchema = fromJsonSchema<Json>({ type: 'object' });
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });

/** Tools that were grown outlive an instance that serves one request. */
const grown: string[] = [];

/** How listeners hear of what an instance does that lives for one request only; absent: by that instance. */
export interface Announce {
  toolsChanged(): void;
  resourceUpdated(uri: string): void;
}

export function createModernServer(announce?: Announce): McpServer {
  const mcp = new McpServer(
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
  for (const name of TOOLS) {
    const handler = (args: Json, ctx: ServerContext) => call({ mcp, announce }, { name, args }, ctx);
    mcp.registerTool(name, { inputSchema }, handler as never);
  }
  for (const name of grown) mcp.registerTool(name, {}, async () => text('grown'));
  mcp.server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'p', arguments: [{ name: 'who' }] }] }));
  mcp.server.setRequestHandler('resources/list', () => ({ resources: [{ uri: NOTE, name: 'a' }] }));
  mcp.server.setRequestHandler('resources/read', ({ params }) => ({ contents: [{ uri: params.uri, text: 'a' }] }));
  mcp.server.setRequestHandler('completion/complete', ({ params }) => ({
    completion: { values: [JSON.stringify([params.ref, params.argument, params.context ?? null])], total: 1 },
  }));
  return mcp;
}

interface Instance {
  readonly mcp: McpServer;
  readonly announce: Announce | undefined;
}

interface Called {
  readonly name: string;
  readonly args: Json;
}

async function call({ mcp, announce }: Instance, { name, args }: Called, ctx: ServerContext) {
  const question = QUESTIONS[name];
  if (question !== undefined) {
    const answers = ctx.mcpReq.inputResponses as Record<string, Json> | undefined;
    if (answers?.q !== undefined) return text(answers.q);
    return inputRequired({ inputRequests: { q: question } as never, requestState: STATE });
  }
  switch (name) {
    case 'progress':
      for (const progress of [1, 2]) {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        if (progressToken === undefined) continue;
        const params = { progressToken, progress, total: 2, message: `step ${progress}` };
        await ctx.mcpReq.notify({ method: 'notifications/progress', params });
      }
      return text('done');
    case 'log':
      await ctx.mcpReq.log('warning', { n: 1 }, 'matrix');
      return text('done');
    case 'wait':
      await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve));
      return text('stopped');
    case 'grow':
      grown.push(String(args.tool));
      mcp.registerTool(String(args.tool), {}, async () => text('grown'));
      announce?.toolsChanged();
      return text('done');
    default:
      if (announce) announce.resourceUpdated(String(args.uri));
      else await mcp.server.sendResourceUpdated({ uri: String(args.uri) });
      return text('done');
  }
}
