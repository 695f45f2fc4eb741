// A legacy client as bytes: no SDK, so that every header and status can be wrong on purpose.

import { type SseEvent, sseEvents } from '../../../../../test/harness/raw-sse.ts';
import { ALICE, type Replica, ROUTE } from './replicas.ts';

export interface Sent {
  readonly user?: string;
  readonly session?: string;
  readonly version?: string;
  readonly accept?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

export const BOTH = 'application/json, text/event-stream';

function headersOf(sent: Sent): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: sent.accept ?? BOTH,
    'x-user': sent.user ?? ALICE,
    ...(sent.session === undefined ? {} : { 'mcp-session-id': sent.session }),
    ...(sent.version === undefined ? {} : { 'mcp-protocol-version': sent.version }),
    ...sent.headers,
  };
}

export function post(replica: Replica, body: unknown, sent: Sent = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(replica.url + (sent.path ?? ROUTE.path), {
    method: 'POST',
    headers: headersOf(sent),
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

export function request(id: unknown, method: string, params?: unknown): Record<string, unknown> {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
}

export function notification(method: string, params?: unknown): Record<string, unknown> {
  return { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) };
}

export function call(id: unknown, name: string, meta?: unknown): Record<string, unknown> {
  return request(id, 'tools/call', { name, arguments: {}, ...(meta === undefined ? {} : { _meta: meta }) });
}

export function verb(method: string, replica: Replica, sent: Sent = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(replica.url + (sent.path ?? ROUTE.path), {
    method,
    headers: headersOf(sent),
    ...(signal === undefined ? {} : { signal }),
  });
}

export function greeting(protocolVersion: unknown = '2025-11-25', capabilities: unknown = {}): Record<string, unknown> {
  const clientInfo = { name: 'peer', version: '1' };
  return request(0, 'initialize', { protocolVersion, capabilities, clientInfo });
}

/** Opens a session and gives its id. */
export async function open(
  replica: Replica,
  revision = '2025-11-25',
  capabilities: unknown = {},
  sent: Sent = {},
): Promise<string> {
  const answer = await post(replica, greeting(revision, capabilities), sent);
  const id = answer.headers.get('mcp-session-id');
  await answer.text();
  if (answer.status !== 200 || id === null) throw new Error(`no session: ${answer.status}`);
  return id;
}

/** Those with something in them, until the stream ends. */
export async function events(response: Response): Promise<SseEvent[]> {
  const all: SseEvent[] = [];
  for await (const event of sseEvents(chunks(response))) if (event.data) all.push(event);
  return all;
}

/** An SSE body that stays open: one event after the other. */
export function reader(response: Response): { next(): Promise<SseEvent | null> } {
  const iterator = sseEvents(chunks(response));
  return {
    async next() {
      for (;;) {
        const step = await iterator.next();
        if (step.done === true) return null;
        if (step.value.data !== undefined) return step.value;
      }
    },
  };
}

async function* chunks(response: Response): AsyncGenerator<Buffer> {
  if (response.body === null) return;
  for await (const chunk of response.body) yield Buffer.from(chunk);
}
