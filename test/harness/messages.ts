// Requests as a correct client of each era would send them, for the raw client: tests then spoil the one thing they are
// about. Header names and `_meta` keys are literals here on purpose.

import { type RawRequest, type RawResponse, sendRaw } from './raw.ts';
import { messagesIn } from './raw-sse.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ModernWish {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: Json;
  /** Merged into `_meta`; undefined values take a key out. */
  readonly meta?: Json;
  /** Merged into the headers; undefined values take a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly token?: string;
}

function without(source: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined));
}

export function modernRequest(wish: ModernWish): RawRequest {
  const params = wish.params ?? {};
  const name = params.name ?? params.uri;
  const meta = without({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    ...wish.meta,
  });
  const headers = without({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': wish.method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...(wish.token !== undefined && { authorization: `Bearer ${wish.token}` }),
    ...wish.headers,
  }) as Record<string, string>;
  const body = { jsonrpc: '2.0', id: wish.id ?? 1, method: wish.method, params: { ...params, _meta: meta } };
  return { headers, body: JSON.stringify(body) };
}

export interface LegacyWish {
  readonly message: Json | readonly Json[];
  readonly session?: string;
  readonly revision?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export function legacyRequest(wish: LegacyWish): RawRequest {
  const headers = without({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': wish.session,
    'mcp-protocol-version': wish.revision,
    ...(wish.token !== undefined && { authorization: `Bearer ${wish.token}` }),
    ...wish.headers,
  }) as Record<string, string>;
  return { headers, body: JSON.stringify(wish.message) };
}

/** The one answer to `id`, whether it came as JSON or at the end of a stream; the rest of the stream beside it. */
export async function answerTo(response: RawResponse, id: string | number) {
  const before: Record<string, unknown>[] = [];
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    return { message: text === '' ? null : (JSON.parse(text) as Record<string, unknown>), before };
  }
  for await (const message of messagesIn(response.events())) {
    if (message.id === id && !('method' in message)) return { message, before };
    before.push(message);
  }
  return { message: null, before };
}

/** Sends one modern request on its own connection and waits for its answer. */
export async function callModern(url: string, wish: ModernWish) {
  const response = await sendRaw(url, modernRequest(wish));
  try {
    const { message, before } = await answerTo(response, wish.id ?? 1);
    return { status: response.status, headers: response.headers, message, before };
  } finally {
    response.destroy();
  }
}

export async function callLegacy(url: string, wish: LegacyWish) {
  const response = await sendRaw(url, legacyRequest(wish));
  try {
    const id = Array.isArray(wish.message) ? 0 : ((wish.message as Json).id as string | number);
    const { message, before } = await answerTo(response, id);
    return { status: response.status, headers: response.headers, message, before };
  } finally {
    response.destroy();
  }
}

/** `initialize` and `initialized`; gives the session id (null where the server gave none). */
export async function openLegacySession(
  url: string,
  options: { readonly token?: string; readonly revision?: string; readonly capabilities?: Json } = {},
) {
  const revision = options.revision ?? '2025-11-25';
  const token = options.token === undefined ? {} : { token: options.token };
  const params = {
    protocolVersion: revision,
    capabilities: options.capabilities ?? {},
    clientInfo: { name: 'raw', version: '1' },
  };
  const opened = await callLegacy(url, { ...token, message: { jsonrpc: '2.0', id: 1, method: 'initialize', params } });
  const session = opened.headers.get('mcp-session-id') ?? null;
  const result = opened.message?.result as Record<string, unknown> | undefined;
  if (result) {
    const message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const response = await sendRaw(
      url,
      legacyRequest({
        ...token,
        message,
        revision: String(result.protocolVersion),
        ...(session !== null && { session }),
      }),
    );
    response.destroy();
  }
  return { ...opened, session, result };
}
