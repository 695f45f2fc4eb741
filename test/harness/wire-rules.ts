// What Lockkeeper may say to a client of each era (protocol.md §1.5, §2.4, §2.12), as sentences about one message. Pure.

import type { SseEvent } from './raw-sse.ts';

type Message = Readonly<Record<string, unknown>>;

export interface Spoken {
  readonly message: Message;
  /** What the client sent in the exchange that carried it; empty on a standalone stream. */
  readonly asked: readonly Message[];
  readonly headers: Readonly<Record<string, string>>;
  readonly event: SseEvent | null;
}

const CACHED = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
const MODERN_NOTIFICATIONS =
  /^notifications\/(progress|message|tasks|subscriptions\/acknowledged|(tools|prompts|resources)\/list_changed|resources\/updated)$/;
const LEGACY_NOTIFICATIONS =
  /^notifications\/(cancelled|progress|message|tasks\/status|elicitation\/complete|(tools|prompts|resources)\/list_changed|resources\/updated)$/;
const MODERN_CODES = new Set([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022]);

const short = (message: Message) => JSON.stringify(message).slice(0, 300);

function answered({ message, asked }: Spoken): Message | undefined {
  return asked.find(({ id }) => id !== undefined && id === message.id);
}

function modernResult(spoken: Spoken, result: Message): string[] {
  const faults: string[] = [];
  const request = answered(spoken);
  if (!request) faults.push('an answer to an id that was not asked');
  const kind = result.resultType;
  if (!['complete', 'input_required', 'task'].includes(String(kind))) faults.push(`resultType ${String(kind)}`);
  if (kind === 'complete' && CACHED.has(String(request?.method))) {
    if (!Number.isInteger(result.ttlMs) || (result.ttlMs as number) < 0) faults.push(`ttlMs ${String(result.ttlMs)}`);
    if (result.cacheScope !== 'public' && result.cacheScope !== 'private') faults.push('no cacheScope');
  }
  if (kind === 'input_required' && !result.inputRequests && !result.requestState) faults.push('asks for nothing');
  return faults;
}

function modernError(error: Message): string[] {
  const code = error.code as number;
  if (MODERN_CODES.has(code) || code >= 10_000) return [];
  return [`code ${code}`];
}

export function modernFaults(spoken: Spoken): string[] {
  const { message, headers, event } = spoken;
  const faults: string[] = [];
  if (message.jsonrpc !== '2.0') faults.push('not JSON-RPC 2.0');
  if (headers['mcp-session-id'] !== undefined) faults.push('a session id');
  if (event?.id !== undefined) faults.push('an event id');
  if (message.method !== undefined) {
    if (message.id !== undefined) faults.push('a request from server to client');
    else if (!MODERN_NOTIFICATIONS.test(String(message.method))) faults.push('a notification of another era');
  } else if (message.result) faults.push(...modernResult(spoken, message.result as Message));
  else if (message.error) faults.push(...modernError(message.error as Message));
  else faults.push('neither result nor error');
  return faults.map((fault) => `modern: ${fault}: ${short(message)}`);
}

export function legacyFaults({ message }: Spoken): string[] {
  const faults: string[] = [];
  if (message.jsonrpc !== '2.0') faults.push('not JSON-RPC 2.0');
  const result = message.result as Message | undefined;
  for (const key of ['resultType', 'ttlMs', 'cacheScope', 'inputRequests', 'requestState']) {
    if (result?.[key] !== undefined) faults.push(`${key} in a result`);
  }
  const carrier = (result ?? message.params) as Message | undefined;
  for (const key of Object.keys((carrier?._meta ?? {}) as Message)) {
    const reserved = key.startsWith('io.modelcontextprotocol/') && key !== 'io.modelcontextprotocol/related-task';
    if (reserved) faults.push(`${key} in _meta`);
  }
  const told = message.method !== undefined && message.id === undefined;
  if (told && !LEGACY_NOTIFICATIONS.test(String(message.method))) faults.push('a notification of another era');
  if (message.method === undefined && !message.result && !message.error) faults.push('neither result nor error');
  return faults.map((fault) => `legacy: ${fault}: ${short(message)}`);
}
