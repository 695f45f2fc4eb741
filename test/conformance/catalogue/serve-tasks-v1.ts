// The tools of the tasks scenarios on the published SDK v1, for both ways in which a legacy server's work becomes a task
// behind Lockkeeper: plain tools that take their time (promotion), and tasks of 2025-11-25 (`withTasks`).

import { setTimeout as delay } from 'node:timers/promises';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RequestTaskStore } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CallToolRequestSchema, type CallToolResult, ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

type Properties = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;
type Ask = (message: string, properties: Properties) => Promise<{ action: string; content?: Record<string, unknown> }>;
type Work = (args: Readonly<Record<string, unknown>>, ask: Ask) => Promise<CallToolResult>;

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

/** Long enough to be promoted before it does what it does. */
const PAUSE_MS = 400;

const WORK: Readonly<Record<string, Work>> = {
  slow_compute: async (args) => {
    await delay(Number(args.seconds ?? 0) * 1000);
    return text(`computed ${String(args.label ?? '')}`);
  },
  failing_job: async () => {
    await delay(PAUSE_MS);
    return { ...text('the job went wrong'), isError: true };
  },
  protocol_error_job: async () => {
    await delay(PAUSE_MS);
    throw new McpError(ErrorCode.InternalError, 'the job broke the protocol');
  },
  confirm_delete: async (args, ask) => {
    await delay(PAUSE_MS);
    const { action } = await ask(`Delete ${String(args.filename)}?`, { confirm: { type: 'boolean' } });
    return text(action === 'accept' ? `deleted ${String(args.filename)}` : 'kept');
  },
  multi_input: async (_args, ask) => {
    await delay(PAUSE_MS);
    const said = await Promise.all([
      ask('Your name?', { name: { type: 'string' } }),
      ask('Are you sure?', { confirm: { type: 'boolean' } }),
    ]);
    return text(said.map(({ action }) => action).join(' '));
  },
  test_tool_with_task: async (_args, ask) => {
    const { content } = await ask('Who?', { name: { type: 'string' } });
    await delay(PAUSE_MS);
    return text(`Hello, ${String(content?.name)}!`);
  },
};

const ARGS = z.looseObject({});

export function createTasksV1(withTasks: boolean): McpServer {
  const tasks = withTasks && {
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  };
  const server = new McpServer({ name: 'tasks', version: '1' }, { ...(tasks || {}) });
  const asking =
    (taskId?: string): Ask =>
    (message, properties) =>
      server.server.elicitInput(
        { mode: 'form', message, requestedSchema: { type: 'object', properties: properties as never } },
        taskId === undefined ? {} : { relatedTask: { taskId } },
      ) as ReturnType<Ask>;
  server.registerTool('greet', { inputSchema: { name: z.string() } }, ({ name }) => text(`Hello, ${name}!`));
  for (const [name, work] of Object.entries(WORK)) {
    // It asks before there is a task.
    if (!withTasks || name === 'test_tool_with_task') {
      server.registerTool(name, { inputSchema: ARGS }, (args) => work(args as never, asking()));
      continue;
    }
    const taskSupport = name === 'slow_compute' ? ('optional' as const) : ('required' as const);
    server.experimental.tasks.registerToolTask(
      name,
      { inputSchema: ARGS, execution: { taskSupport } },
      {
        createTask: async (args, { taskStore, taskRequestedTtl }) => {
          const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: 300 });
          void run(taskStore, task.taskId, () => work(args as never, asking(task.taskId)));
          return { task };
        },
        getTask: (_args, { taskId, taskStore }) => taskStore.getTask(taskId) as never,
        getTaskResult: (_args, { taskId, taskStore }) => taskStore.getTaskResult(taskId) as Promise<CallToolResult>,
      },
    );
  }
  if (!withTasks) {
    // McpServer makes a result of every error; this one is to be an error of JSON-RPC.
    const greet: Work = async (args) => text(`Hello, ${String(args.name)}!`);
    server.server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const work = params.name === 'greet' ? greet : WORK[params.name];
      if (work === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
      return work(params.arguments ?? {}, asking());
    });
  }
  return server;
}

export async function serveTasksV1(withTasks: boolean): Promise<void> {
  await createTasksV1(withTasks).connect(new StdioServerTransport());
}

async function run(store: RequestTaskStore, taskId: string, work: () => Promise<CallToolResult>): Promise<void> {
  try {
    const result = await work();
    await store.storeTaskResult(taskId, result.isError === true ? 'failed' : 'completed', result);
  } catch (error) {
    await store.updateTaskStatus(taskId, 'failed', String(error)).catch(() => {
      // Cancelled meanwhile: it has its end.
    });
  }
}
