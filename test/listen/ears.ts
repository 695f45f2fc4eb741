// A modern client that listens, on a bare socket: every message of its stream as it came, and a way to wait for them.

import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { callLegacy, callModern, type ModernWish, modernRequest } from '../harness/messages.ts';
import { type RawResponse, sendRaw } from '../harness/raw.ts';
import { messagesIn } from '../harness/raw-sse.ts';

export type Message = Record<string, unknown> & {
  readonly method?: string;
  readonly params?: Record<string, unknown> & { readonly _meta?: Record<string, unknown> };
};

export const SUB = 'io.modelcontextprotocol/subscriptionId';
export const CHANGES = fileURLToPath(new URL('../servers/tells-changes.mjs', import.meta.url));

export interface Ears {
  readonly status: number;
  readonly response: RawResponse & { destroy(): void };
  /** In order, as they came. */
  readonly messages: readonly Message[];
  /** Methods, without `notifications/`, of all but the acknowledgement. */
  heard(): readonly string[];
  count(method: string, uri?: string): number;
  wait(method: string, times?: number, uri?: string): Promise<void>;
  readonly ended: Promise<void>;
  close(): void;
}

export async function listen(url: string, notifications: object, wish: Partial<ModernWish> = {}): Promise<Ears> {
  const request = modernRequest({ method: 'subscriptions/listen', id: 'ears', ...wish, params: { notifications } });
  const response = await sendRaw(url, request);
  const messages: Message[] = [];
  const read = async (): Promise<void> => {
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      messages.push(JSON.parse(await response.text()) as Message);
      return;
    }
    for await (const message of messagesIn(response.events())) messages.push(message as Message);
  };
  const ended = read().catch(() => {});
  const count = (method: string, uri?: string) =>
    messages.filter((m) => m.method === `notifications/${method}` && (uri === undefined || m.params?.uri === uri))
      .length;
  const ears: Ears = {
    status: response.status,
    response,
    messages,
    heard: () => messages.slice(1).flatMap((m) => (m.method === undefined ? [] : [m.method.slice(14)])),
    count,
    wait: async (method, times = 1, uri) => {
      await eventually(() => count(method, uri) >= times, { deadlineMs: 10_000 }).catch((error: unknown) => {
        throw new Error(`no ${method} ×${times}: ${JSON.stringify(messages)}`, { cause: error });
      });
    },
    ended,
    close: () => response.destroy(),
  };
  if (response.status === 200) await eventually(() => messages.length > 0, { deadlineMs: 15_000 });
  return ears;
}

/** A tool of tells-changes; its text. */
export async function tool(
  url: string,
  name: string,
  args: object = {},
  wish: Partial<ModernWish> = {},
): Promise<string> {
  const { message } = await callModern(url, { ...wish, method: 'tools/call', params: { name, arguments: args } });
  const result = message?.result as { content?: { text: string }[] } | undefined;
  if (result?.content === undefined) throw new Error(JSON.stringify(message));
  return result.content[0]!.text;
}

export async function toolNames(url: string, wish: Partial<ModernWish> = {}): Promise<readonly string[]> {
  const { message } = await callModern(url, { ...wish, method: 'tools/list' });
  return (message!.result as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

export interface Told {
  readonly subscribed: readonly string[];
  readonly listens: readonly Record<string, unknown>[];
  readonly listensSeen: number;
}

export async function told(url: string, wish: Partial<ModernWish> = {}, name = 'subscriptions'): Promise<Told> {
  return JSON.parse(await tool(url, name, {}, wish)) as Told;
}

export interface LegacyEars {
  readonly session: string;
  readonly messages: readonly Message[];
  count(method: string, uri?: string): number;
  wait(method: string, times?: number, uri?: string): Promise<void>;
  close(): void;
}

/** The standalone stream of a session. */
export async function openStream(url: string, session: string, token?: string): Promise<LegacyEars> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session, ...authorization };
  const response = await sendRaw(url, { method: 'GET', headers });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const messages: Message[] = [];
  const read = async (): Promise<void> => {
    for await (const message of messagesIn(response.events())) messages.push(message as Message);
  };
  read().catch(() => {}); // closed by us
  const count = (method: string, uri?: string) =>
    messages.filter((m) => m.method === `notifications/${method}` && (uri === undefined || m.params?.uri === uri))
      .length;
  return {
    session,
    messages,
    count,
    wait: async (method, times = 1, uri) => {
      await eventually(() => count(method, uri) >= times, { deadlineMs: 10_000 }).catch((error: unknown) => {
        throw new Error(`no ${method} ×${times}: ${JSON.stringify(messages)}`, { cause: error });
      });
    },
    close: () => response.destroy(),
  };
}

/** A request of a legacy session; its result, or its error's code. */
export async function ask(
  url: string,
  session: string,
  method: string,
  params: object,
  token?: string,
): Promise<unknown> {
  const { message } = await callLegacy(url, {
    session,
    revision: '2025-11-25',
    ...(token === undefined ? {} : { token }),
    message: { jsonrpc: '2.0', id: 5, method, params },
  });
  return message?.result ?? (message?.error as { code: number } | undefined)?.code;
}
