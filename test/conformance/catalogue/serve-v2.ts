// The catalogue on the published SDK v2: modern rounds end with `input_required`; towards legacy clients the SDK itself
// turns that into requests on the wire. Tools go through its registry, since only that checks Mcp-Param-* headers.

import {
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ProtocolError,
  type RegisteredTool,
  ResourceNotFoundError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { ASKING_TOOLS } from './asking-tools.ts';
import type { Call, Json, Question, ToolDefinition } from './catalogue.ts';
import { PLAIN_TOOLS } from './plain-tools.ts';
import { complete, PROMPTS } from './prompts.ts';
import { listed, read, TEMPLATES } from './resources.ts';

type Answers = Readonly<Record<string, Json>>;

/** One key a process: both rounds of a call must reach the process that sealed the state. */
const codec = createRequestStateCodec<{ answers: Answers; round: number }>({
  key: crypto.getRandomValues(new Uint8Array(32)),
});

/** Ends the round; the definition is run again from its start when the answers are here. */
class Unanswered extends Error {
  readonly questions: Readonly<Record<string, Question>>;
  readonly answered: Answers;
  constructor(questions: Readonly<Record<string, Question>>, answered: Answers) {
    super('unanswered');
    this.questions = questions;
    this.answered = answered;
  }
}

/** What outlives one server instance: over HTTP each request gets a fresh one. */
export interface Host {
  readonly comings: { tools: boolean; prompts: boolean };
  /** Tells open listeners; over stdio the instance does it itself. */
  readonly announce?: (list: 'tools' | 'prompts') => void;
}

function asker(known: Answers): Call['ask'] {
  return async (questions) => {
    const open = Object.entries(questions).filter(([key]) => known[key] === undefined);
    if (open.length > 0) throw new Unanswered(Object.fromEntries(open), known);
    return Object.fromEntries(Object.keys(questions).map((key) => [key, known[key]!]));
  };
}

async function inRounds(ctx: ServerContext, stateful: boolean, run: (known: Answers) => Promise<Json>) {
  const state = ctx.mcpReq.requestState<{ answers: Answers; round: number }>();
  const known = { ...state?.answers, ...(ctx.mcpReq.inputResponses as Answers | undefined) };
  try {
    return await run(known);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const round = (state?.round ?? 0) + 1;
    const needsState = stateful || round > 1;
    return inputRequired({
      inputRequests: error.questions as never,
      ...(needsState && { requestState: await codec.mint({ answers: error.answered, round }) }),
    });
  }
}

interface Instance {
  readonly mcp: McpServer;
  readonly host: Host;
  /** Comes and goes by test_trigger_tool_change; the SDK announces it. */
  readonly guest: RegisteredTool;
}

function callOf({ mcp, host, guest }: Instance, args: Json, ctx: ServerContext, known: Answers): Call {
  const token = ctx.mcpReq._meta?.progressToken;
  const envelope = (ctx.mcpReq.envelope as Json | undefined)?.['io.modelcontextprotocol/clientCapabilities'];
  return {
    args,
    declared: (envelope ?? mcp.server.getClientCapabilities() ?? {}) as Json,
    progressToken: token,
    progress: async (progress, total) => {
      if (token === undefined) return;
      const params = { progressToken: token, progress, total };
      await ctx.mcpReq.notify({ method: 'notifications/progress', params });
    },
    log: (level, data) => ctx.mcpReq.log(level, data, 'fixture'),
    ask: asker(known),
    changed: async (list) => {
      host.comings[list] = !host.comings[list];
      if (host.announce) host.announce(list);
      else if (list === 'prompts') mcp.sendPromptListChanged();
      else if (host.comings.tools) guest.enable();
      else guest.disable();
    },
    dropStream: () => ctx.http?.closeSSE?.(),
  };
}

function registerTool(instance: Instance, tool: ToolDefinition): void {
  const schema = fromJsonSchema<Json>(tool.inputSchema as never);
  const handler = (args: Json, ctx: ServerContext) =>
    inRounds(ctx, tool.stateful === true, (known) => tool.run(callOf(instance, args, ctx, known)));
  instance.mcp.registerTool(tool.name, { description: tool.description, inputSchema: schema }, handler as never);
}

function servePrompts(instance: Instance): void {
  const { mcp, host } = instance;
  const guest = { name: 'test_guest_prompt', description: 'Comes and goes.' };
  mcp.server.setRequestHandler('prompts/list', () => {
    const prompts = PROMPTS.map(({ get: _get, ...prompt }) => prompt);
    return { prompts: (host.comings.prompts ? [...prompts, guest] : prompts) as never };
  });
  mcp.server.setRequestHandler('prompts/get', (async (
    { params }: { params: { name: string; arguments?: Json } },
    ctx: ServerContext,
  ) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name);
    if (!prompt) throw new ProtocolError(-32602, `Unknown prompt: ${params.name}`);
    const args = params.arguments ?? {};
    return inRounds(ctx, false, (known) => prompt.get(callOf(instance, args, ctx, known)));
  }) as never);
  mcp.server.setRequestHandler('completion/complete', ({ params }) => complete(params as never) as never);
}

function serveResources(mcp: McpServer): void {
  mcp.server.setRequestHandler('resources/list', () => ({ resources: listed() as never }));
  mcp.server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: TEMPLATES as never }));
  mcp.server.setRequestHandler('resources/read', ({ params }) => {
    const found = read(params.uri);
    if (!found) throw new ResourceNotFoundError(params.uri);
    return found as never;
  });
  mcp.server.setRequestHandler('resources/subscribe', () => ({}));
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

export function createV2Server(host: Host): McpServer {
  const mcp = new McpServer(
    { name: 'fixture-v2', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      instructions: 'A fixture for the conformance suite.',
      requestState: { verify: codec.verify },
    },
  );
  const guest = mcp.registerTool('test_guest', { description: 'Comes and goes.' }, async () => ({ content: [] }));
  if (!host.comings.tools) guest.disable();
  const instance = { mcp, host, guest };
  for (const tool of [...PLAIN_TOOLS, ...ASKING_TOOLS]) registerTool(instance, tool);
  servePrompts(instance);
  serveResources(mcp);
  return mcp;
}
