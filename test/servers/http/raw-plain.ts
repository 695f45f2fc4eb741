// What a raw upstream does when no test says otherwise: a correct small server of its kind. Strict where the revisions are:
// a legacy one wants its session id and version header, a modern one its envelope and headers.

import { randomUUID } from 'node:crypto';
import type { Reply, Stream } from './raw-reply.ts';
import type { Act, Json, RawWish, Seen } from './raw-upstream.ts';

/** `legacy`: a session each; `stateless`: legacy without sessions; `sse`: HTTP+SSE of 2024-11-05. */
export type Kind = 'legacy' | 'stateless' | 'modern' | 'dual' | 'sse';

const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const CACHED = { ttlMs: 0, cacheScope: 'private' };

export const ECHO: Json = { name: 'echo', inputSchema: { type: 'object', properties: {} } };
export const text = (value: unknown) => ({ content: [{ type: 'text', text: String(value) }] });

interface Plain {
  readonly act: Act;
  readonly sessions: ReadonlySet<string>;
  forget(): void;
}

const errorOf = (seen: Seen, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  id: seen.message?.id ?? null,
  error: { code, message, ...(data !== undefined && { data }) },
});
const resultOf = (seen: Seen, result: unknown) => ({ jsonrpc: '2.0', id: seen.message?.id, result });

export function plainAnswers(wish: RawWish): Plain {
  const tools = wish.tools ?? [ECHO];
  const capabilities = wish.capabilities ?? { tools: { listChanged: true } };
  const sessions = new Set<string>();
  const streams = new Map<string, Stream>();

  const send = (reply: Reply, message: unknown, headers: Readonly<Record<string, string>> = {}) => {
    if (wish.replies !== 'sse') return reply.json(message, 200, headers);
    const stream = reply.stream(headers);
    stream.event({ data: message });
    stream.end();
  };

  const both = (seen: Seen): unknown => {
    const params = seen.message?.params ?? {};
    const method = seen.message?.method ?? '';
    if (wish.methods?.[method]) return wish.methods[method](params, seen);
    if (method === 'tools/list') return { tools };
    if (method !== 'tools/call') return null;
    const args = (params.arguments ?? {}) as Json;
    return wish.call?.(String(params.name), args, seen) ?? text(JSON.stringify({ name: params.name, arguments: args }));
  };

  const modern: Act = (reply, seen) => {
    const { message, headers, verb } = seen;
    if (verb !== 'POST') return reply.body(405, { allow: 'POST' });
    if (message?.id === undefined) return reply.body(202, {});
    const meta = message.params?._meta as Json | undefined;
    const version = meta?.[`${META}protocolVersion`];
    if (version !== headers['mcp-protocol-version'] || headers['mcp-method'] !== message.method) {
      return reply.json(errorOf(seen, -32020, 'Headers differ from the body'), 400);
    }
    if (version !== MODERN) {
      const data = { supported: [MODERN], requested: version };
      return reply.json(errorOf(seen, -32022, 'Unsupported protocol version', data), 400);
    }
    if (message.method === 'server/discover') {
      const supportedVersions = wish.kind === 'dual' ? [MODERN, ...REVISIONS] : [MODERN];
      return send(reply, resultOf(seen, { resultType: 'complete', supportedVersions, capabilities, ...CACHED }));
    }
    const result = both(seen) as Json | null;
    if (result === null) return reply.json(errorOf(seen, -32601, 'Method not found'), 404);
    const cached = /list$|read$/.test(message.method ?? '') ? CACHED : {};
    return send(reply, resultOf(seen, { resultType: 'complete', ...cached, ...result }));
  };

  const initialize = (seen: Seen) => {
    const newest = wish.kind === 'sse' ? '2024-11-05' : (wish.revision ?? REVISIONS[0]!);
    const asked = String(seen.message?.params?.protocolVersion);
    const protocolVersion = REVISIONS.slice(REVISIONS.indexOf(newest)).includes(asked) ? asked : newest;
    return { protocolVersion, capabilities, serverInfo: { name: 'raw', version: '1' } };
  };

  const legacy: Act = (reply, seen) => {
    const { message, headers, verb } = seen;
    const id = headers['mcp-session-id'];
    if (message?.method === 'initialize') {
      const session = wish.kind === 'stateless' ? null : randomUUID();
      if (session !== null) sessions.add(session);
      return send(reply, resultOf(seen, initialize(seen)), session === null ? {} : { 'mcp-session-id': session });
    }
    if (wish.kind === 'stateless') {
      if (verb !== 'POST') return reply.body(405, { allow: 'POST' });
    } else {
      if (id === undefined) return reply.json(errorOf(seen, -32000, 'Bad Request: no session id'), 400);
      if (!sessions.has(id)) return reply.json(errorOf(seen, -32001, 'Session not found'), 404);
    }
    const version = headers['mcp-protocol-version'];
    if (version !== undefined && !REVISIONS.includes(version)) {
      return reply.json(errorOf(seen, -32000, 'Unsupported protocol version'), 400);
    }
    if (verb === 'DELETE') {
      sessions.delete(id ?? '');
      return reply.body(200, {});
    }
    if (verb === 'GET') return void reply.stream();
    return answered(reply, seen);
  };

  const answered: Act = (reply, seen) => {
    if (seen.message?.id === undefined || seen.message.method === undefined) return reply.body(202, {});
    if (seen.message.method === 'ping') return send(reply, resultOf(seen, {}));
    const result = both(seen);
    if (result === null) return send(reply, errorOf(seen, -32601, 'Method not found'));
    return send(reply, resultOf(seen, result));
  };

  const sse: Act = (reply, seen) => {
    const { pathname, searchParams } = new URL(seen.path, 'http://raw');
    if (seen.verb === 'GET' && pathname === '/sse') {
      const session = randomUUID();
      const stream = reply.stream();
      sessions.add(session);
      streams.set(session, stream);
      void stream.closed.then(() => sessions.delete(session) && streams.delete(session));
      return stream.event({ event: 'endpoint', data: `/messages?session=${session}` });
    }
    if (pathname !== '/messages') return reply.body(pathname === '/sse' ? 405 : 404, {});
    const stream = streams.get(searchParams.get('session') ?? '');
    if (!stream) return reply.body(404, {}, 'no such session');
    reply.body(202, {}, 'Accepted');
    if (seen.message?.id === undefined || seen.message.method === undefined) return;
    if (seen.message.method === 'initialize') return stream.event({ data: resultOf(seen, initialize(seen)) });
    if (seen.message.method === 'ping') return stream.event({ data: resultOf(seen, {}) });
    const result = both(seen);
    return stream.event({
      data: result === null ? errorOf(seen, -32601, 'Method not found') : resultOf(seen, result),
    });
  };

  const isModern = ({ message }: Seen) => {
    const meta = message?.params?._meta as Json | undefined;
    return meta?.[`${META}protocolVersion`] !== undefined;
  };
  const acts: Readonly<Record<Kind, Act>> = {
    modern,
    legacy,
    stateless: legacy,
    sse,
    dual: (reply, seen) => (isModern(seen) ? modern : legacy)(reply, seen),
  };
  return { act: acts[wish.kind], sessions, forget: () => sessions.clear() };
}
