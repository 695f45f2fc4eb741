// A modern client that takes tasks, as far as these tests need one: raw requests, so that nothing is repaired.

import { eventually } from '../harness/eventually.ts';
import { callModern } from '../harness/messages.ts';

type Json = Record<string, unknown>;

export const EXTENSION = 'io.modelcontextprotocol/tasks';

/** What the client declares on each request. */
export const TAKES_TASKS: Json = { extensions: { [EXTENSION]: {} }, elicitation: { form: {} } };

export interface Asking {
  readonly token?: string;
  readonly capabilities?: Json;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface Said {
  readonly status: number;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

export async function ask(url: string, method: string, params: Json, how: Asking = {}): Promise<Said> {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': how.capabilities ?? TAKES_TASKS };
  const { status, message } = await callModern(url, {
    method,
    params,
    meta,
    ...(how.token === undefined ? {} : { token: how.token }),
    ...(how.headers === undefined ? {} : { headers: how.headers }),
  });
  return { status, ...(message as { result?: Json; error?: Said['error'] }) } as Said;
}

export function call(url: string, name: string, args: Json, how: Asking = {}): Promise<Said> {
  return ask(url, 'tools/call', { name, arguments: args }, how);
}

export function get(url: string, taskId: unknown, how: Asking = {}): Promise<Said> {
  return ask(url, 'tasks/get', { taskId }, how);
}

const TERMINAL = ['completed', 'failed', 'cancelled'];

export function ended(url: string, taskId: unknown, how: Asking = {}): Promise<Json> {
  return until(url, taskId, (task) => TERMINAL.includes(String(task.status)), how);
}

export function until(url: string, taskId: unknown, is: (task: Json) => boolean, how: Asking = {}): Promise<Json> {
  return eventually(
    async () => {
      const { result, error } = await get(url, taskId, how);
      if (result === undefined) throw new Error(JSON.stringify(error));
      return is(result) ? result : Promise.reject(new Error(JSON.stringify(result)));
    },
    { deadlineMs: 15_000, everyMs: 50 },
  );
}

export function textOf(task: Json): string | undefined {
  return (task.result as { content: { text: string }[] }).content[0]?.text;
}
