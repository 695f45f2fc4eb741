// The published clients of both eras behind one face: what they are asked they answer and write down, what they are told
// they write down, and their wire is listened in on.

import type { Client as ModernClient } from '@modelcontextprotocol/client';
import type { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { connectV1 } from '../harness/client-legacy.ts';
import { connectV2 } from '../harness/client-modern.ts';
import { createWireLog, type WireLog } from '../harness/wire-log.ts';
import type { Era, Json } from './cell.ts';

export interface How {
  readonly onprogress?: (progress: Json) => void;
  readonly signal?: AbortSignal;
}

export interface MatrixClient {
  readonly era: Era;
  readonly wire: WireLog;
  readonly asked: readonly Json[];
  readonly told: readonly Json[];
  call(name: string, args?: Json, how?: How): Promise<Json>;
  complete(params: Json): Promise<Json>;
  tools(): Promise<readonly string[]>;
  /** Log messages from here on. */
  wantLogs(): Promise<void>;
  /** Changes of the tools or of a resource from here on; gives the way to stop. */
  follow(what: 'tools' | { readonly uri: string }): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const ANSWERS: Readonly<Record<string, Json>> = {
  form: { action: 'accept', content: { colour: 'grün', size: 3 } },
  url: { action: 'accept' },
  sampling: { role: 'assistant', model: 'm-1', content: { type: 'text', text: 'four' }, stopReason: 'endTurn' },
  roots: { roots: [{ uri: 'file:///home/ann', name: 'home' }] },
};

const LEVEL = 'io.modelcontextprotocol/logLevel';

export async function connect(era: Era, url: string, through: typeof fetch = fetch): Promise<MatrixClient> {
  const wire = createWireLog(era, through);
  const asked: Json[] = [];
  const told: Json[] = [];
  const answer = (request: { method: string; params?: unknown }): never => {
    const params = (request.params ?? {}) as Json;
    asked.push({ method: request.method, params });
    if (request.method === 'sampling/createMessage') return ANSWERS.sampling as never;
    if (request.method === 'roots/list') return ANSWERS.roots as never;
    return ANSWERS[params.mode === 'url' ? 'url' : 'form'] as never;
  };
  const tell = (notification: object) => void told.push(notification as Json);
  const base = { era, wire, asked, told };
  if (era === 'modern') return modern(await connectV2(url, 'pinned', options(wire)), base, answer, tell);
  return legacy(await connectV1(url, 'streamable', options(wire)), base, answer, tell);
}

const options = (wire: WireLog) => ({ capabilities: CAPABILITIES, fetch: wire.fetch });

type Base = Pick<MatrixClient, 'era' | 'wire' | 'asked' | 'told'>;
type Answer = (request: { method: string; params?: unknown }) => never;
type Tell = (notification: object) => void;

function modern(client: ModernClient, base: Base, answer: Answer, tell: Tell): MatrixClient {
  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list'] as const) {
    client.setRequestHandler(method, answer);
  }
  for (const what of ['message', 'tools/list_changed', 'resources/updated'] as const) {
    client.setNotificationHandler(`notifications/${what}`, tell);
  }
  let level: Json | undefined;
  return {
    ...base,
    call: async (name, args = {}, how = {}) =>
      (await client.callTool({ name, arguments: args, ...(level && { _meta: level }) } as never, how as never)) as Json,
    complete: async (params) => (await client.complete(params as never)) as Json,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    wantLogs: async () => {
      level = { [LEVEL]: 'info' };
    },
    follow: async (what) => {
      const filter = what === 'tools' ? { toolsListChanged: true } : { resourceSubscriptions: [what.uri] };
      const subscription = await client.listen(filter);
      return async () => void (await subscription.close());
    },
    close: () => client.close(),
  };
}

function legacy(client: LegacyClient, base: Base, answer: Answer, tell: Tell): MatrixClient {
  client.setRequestHandler(ElicitRequestSchema, answer);
  client.setRequestHandler(CreateMessageRequestSchema, answer);
  client.setRequestHandler(ListRootsRequestSchema, answer);
  client.setNotificationHandler(LoggingMessageNotificationSchema, tell);
  client.setNotificationHandler(ToolListChangedNotificationSchema, tell);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, tell);
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, tell);
  return {
    ...base,
    call: async (name, args = {}, how = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, how as never)) as Json,
    complete: async (params) => (await client.complete(params as never)) as Json,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    wantLogs: async () => void (await client.setLoggingLevel('info')),
    follow: async (what) => {
      if (what === 'tools') return async () => undefined; // told unasked
      await client.subscribeResource(what);
      return async () => void (await client.unsubscribeResource(what));
    },
    close: () => client.close(),
  };
}
