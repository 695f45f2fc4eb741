// A modern server with the tasks extension, which no SDK has yet: written on the wire, over stdio or wherever it is called. Its task ids are
// counted on purpose (`task-1`, `task-2`): whoever hands them on unchanged shows it (GB-148).

import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline';

type Json = Record<string, unknown>;
type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

const META = 'io.modelcontextprotocol/';
const REVISION = '2026-07-28';
const EXTENSION = `${META}tasks`;
const HINTS = { ttlMs: 0, cacheScope: 'private' };

interface Task {
  readonly id: string;
  status: Status;
  readonly createdAt: string;
  updatedAt: string;
  payload: Json;
  readonly answers: Map<string, (answer: Json) => void>;
  readonly questions: Map<string, Json>;
  timer?: NodeJS.Timeout;
}

/** What a tool does once its task runs; throws a `Failure` for an error of JSON-RPC. */
type Work = (args: Json, task: Task) => Promise<Json>;

class Failure extends Error {}

const tasks = new Map<string, Task>();
let made = 0;

const text = (value: string, more: Json = {}): Json => ({ content: [{ type: 'text', text: value }], ...more });

/** Where the answer to what is being worked on goes; over stdio there is one place for all. */
const place = new AsyncLocalStorage<(message: Json) => void>();
const print = (message: Json) => void process.stdout.write(`${JSON.stringify(message)}\n`);
const send = (value: Json): undefined => void (place.getStore() ?? print)({ jsonrpc: '2.0', ...value });
const reply = (id: unknown, result: Json): undefined =>
  send({
    id,
    result: { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: 'tasks', version: '1' } }, ...result },
  });
const fail = (id: unknown, code: number, message: string, data?: Json): undefined =>
  send({ id, error: { code, message, ...(data && { data }) } });

function touch(task: Task, status: Status, payload: Json = {}): void {
  task.status = status;
  task.payload = payload;
  task.updatedAt = new Date().toISOString();
}

function shown(task: Task, detailed: boolean): Json {
  const questions = task.status === 'input_required' && { inputRequests: Object.fromEntries(task.questions) };
  return {
    taskId: task.id,
    status: task.status,
    createdAt: task.createdAt,
    lastUpdatedAt: task.updatedAt,
    ttlMs: 600_000,
    pollIntervalMs: 500,
    ...(detailed && { ...task.payload, ...questions }),
  };
}

function ask(task: Task, key: string, message: string, properties: Json): Promise<Json> {
  const requestedSchema = { type: 'object', properties };
  task.questions.set(key, { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } });
  touch(task, 'input_required');
  return new Promise((resolve) => task.answers.set(key, resolve));
}

function answer(task: Task, answers: Json): void {
  for (const [key, value] of Object.entries(answers)) {
    const take = task.answers.get(key);
    if (take === undefined) continue;
    task.answers.delete(key);
    task.questions.delete(key);
    if (task.questions.size === 0) touch(task, 'working');
    take(value as Json);
  }
}

const isOver = (task: Task) => task.status === 'completed' || task.status === 'failed' || task.status === 'cancelled';

const TASKS: Readonly<Record<string, Work>> = {
  slow_compute: (args, task) =>
    new Promise((resolve) => {
      const done = () => resolve(text(`computed ${String(args.label ?? '')} in ${String(args.seconds ?? 0)} s`));
      task.timer = setTimeout(done, Number(args.seconds ?? 0) * 1000);
    }),
  failing_job: async () => text('the job went wrong', { isError: true }),
  protocol_error_job: async () => {
    throw new Failure('the job broke the protocol');
  },
  confirm_delete: async (args, task) => {
    const said = await ask(task, 'confirm', `Delete ${String(args.filename)}?`, { confirm: { type: 'boolean' } });
    return text(said.action === 'accept' ? `deleted ${String(args.filename)}` : 'kept');
  },
  multi_input: async (_args, task) => {
    const said = await Promise.all([
      ask(task, 'first', 'Your name?', { name: { type: 'string' } }),
      ask(task, 'second', 'Are you sure?', { confirm: { type: 'boolean' } }),
    ]);
    return text(said.map(({ action }) => String(action)).join(' '));
  },
  test_tool_with_task: async (args) => text(`Hello, ${String(args.name)}!`),
};

function start(id: unknown, args: Json, work: Work): undefined {
  const now = new Date().toISOString();
  const base = { status: 'working' as Status, createdAt: now, updatedAt: now, payload: {} };
  const task: Task = { id: `task-${++made}`, ...base, answers: new Map(), questions: new Map() };
  tasks.set(task.id, task);
  send({ id, result: { resultType: 'task', ...shown(task, false) } });
  const end = (status: Status, payload: Json) => {
    if (!isOver(task)) touch(task, status, payload);
  };
  setTimeout(() => {
    work(args, task).then(
      (result) => end('completed', { result }),
      (error: Error) => end('failed', { error: { code: -32603, message: error.message } }),
    );
  }, 20);
}

function call(id: unknown, params: Json): undefined {
  const name = String(params.name);
  const args = (params.arguments ?? {}) as Json;
  const capabilities = (params._meta as Json)[`${META}clientCapabilities`] as Json;
  const declared = (capabilities.extensions as Json | undefined)?.[EXTENSION] !== undefined;
  if (name === 'greet') return reply(id, text(`Hello, ${String(args.name)}!`));
  const work = TASKS[name];
  if (work === undefined) return fail(id, -32602, `Unknown tool: ${name}`);
  if (declared && name === 'test_tool_with_task') return gather(id, params, work);
  if (declared) return start(id, args, work);
  if (name !== 'slow_compute') {
    const requiredCapabilities = { extensions: { [EXTENSION]: {} } };
    return fail(id, -32021, `${name} runs as a task only`, { requiredCapabilities });
  }
  setTimeout(() => reply(id, text('computed')), Number(args.seconds ?? 0) * 1000);
}

/** Asks before there is a task, and makes one of the last round. */
function gather(id: unknown, params: Json, work: Work): undefined {
  const said = (params.inputResponses as Json | undefined)?.user_name as { content?: Json } | undefined;
  if (said !== undefined) return start(id, { name: said.content?.name }, work);
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  const question = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } };
  reply(id, { resultType: 'input_required', inputRequests: { user_name: question }, requestState: 'gathering' });
}

function about(id: unknown, method: string, params: Json): undefined {
  const task = tasks.get(String(params.taskId));
  if (task === undefined) return fail(id, -32602, 'Task not found');
  if (method === 'tasks/get') return reply(id, shown(task, true));
  if (method === 'tasks/update') answer(task, (params.inputResponses ?? {}) as Json);
  else if (!isOver(task)) {
    clearTimeout(task.timer);
    touch(task, 'cancelled');
  }
  reply(id, {});
}

const schema = (properties: Json) => ({ type: 'object', properties });
const TOOLS = [
  { name: 'greet', description: 'Greets', inputSchema: schema({ name: { type: 'string' } }) },
  { name: 'slow_compute', description: 'Takes its time', inputSchema: schema({ seconds: { type: 'number' } }) },
  ...['failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input', 'test_tool_with_task'].map((name) => ({
    name,
    description: name,
    inputSchema: schema({}),
  })),
];

function take(message: Json): undefined {
  const { id, method, params } = message as { id: unknown; method?: string; params?: Json };
  if (method === undefined || id === undefined) return;
  if ((params?._meta as Json | undefined)?.[`${META}protocolVersion`] !== REVISION) {
    return fail(id, -32022, 'Unsupported protocol version', { supported: [REVISION], requested: null });
  }
  switch (method) {
    case 'server/discover':
      return reply(id, {
        supportedVersions: [REVISION],
        capabilities: { tools: {}, extensions: { [EXTENSION]: {} } },
        ...HINTS,
      });
    case 'tools/list':
      return reply(id, { tools: TOOLS, ...HINTS });
    case 'tools/call':
      return call(id, params!);
    case 'tasks/get':
    case 'tasks/update':
    case 'tasks/cancel':
      return about(id, method, params!);
    default:
      return fail(id, -32601, `Method not found: ${method}`);
  }
}

/** One message and its answer, if it has one. */
export function takeTasks(message: Json, say: (message: Json) => void): void {
  place.run(say, () => take(message));
}

export function serveTasks(): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => take(JSON.parse(line) as Json));
  lines.on('close', () => process.exit(0));
}
