// A client of either era, at any gateway: what the soak's people hold in their hands. Requests are those of correct
// clients; what is done with them is not always polite.

import { legacyRequest, modernRequest } from '../harness/messages.ts';
import type { Person } from './people.ts';
import type { Random } from './random.ts';
import { type Manners, type Message, type Reply, send } from './wire.ts';

export interface Caller {
  readonly person: Person;
  readonly era: 'legacy' | 'modern';
  /** One request, and its answer. */
  ask(method: string, params: Record<string, unknown>, manners?: Manners): Promise<Reply>;
  /** Takes back a request that is under way; a modern client just leaves. */
  cancel(id: string): Promise<void>;
  /** A stream of what the server says unasked, until `leaves` settles. */
  listen(uris: readonly string[], leaves: Promise<unknown>): Promise<Reply>;
  /** Answers a question of the server that came on a stream (legacy). */
  answer(question: Message, result: unknown): Promise<void>;
  /** The id that the next request will have. */
  nextId(): string;
  /** With a DELETE, where the client has something to end. */
  end(): Promise<void>;
}

export interface Place {
  readonly person: Person;
  readonly random: Random;
  /** Of a legacy client; default: any. */
  readonly revision?: string;
  url(): string;
}

const CAPABILITIES = { elicitation: { form: {} } };
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];

export function createModern({ person, random, url }: Place): Caller {
  let last = 0;
  const meta = {
    'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
    ...(random.chance(0.5) && { 'io.modelcontextprotocol/logLevel': 'info' }),
  };
  const { token } = person;
  const ask: Caller['ask'] = (method, params, manners = {}) => {
    const id = `m${++last}`;
    const progress = method === 'tools/call' ? { progressToken: id } : {};
    const request = modernRequest({ id, method, params, token, meta: { ...meta, ...progress } });
    return send(person, url(), request, { ...manners, id });
  };
  return {
    ...{ person, ask, era: 'modern' },
    nextId: () => `m${last + 1}`,
    cancel: async () => {},
    answer: async () => {},
    listen: (uris, leaves) => {
      const notifications = { toolsListChanged: true, resourceSubscriptions: uris };
      return ask('subscriptions/listen', { notifications }, { leaves });
    },
    end: async () => {},
  };
}

/** Null, with the reply, where no session could be had. */
export async function createLegacy(place: Place): Promise<{ caller: Caller | null; reply: Reply }> {
  const { person, random, url } = place;
  const { token } = person;
  const revision = place.revision ?? random.one(REVISIONS);
  let last = 0;
  const clientInfo = { name: 'soak', version: '1' };
  const params = { protocolVersion: revision, capabilities: { elicitation: {} }, clientInfo };
  const hello = { jsonrpc: '2.0', id: 'i', method: 'initialize', params };
  const reply = await send(person, url(), legacyRequest({ message: hello, token }), { id: 'i' });
  const session = reply.session ?? undefined;
  // A stream may have begun, id and all, before it was known that there is no session.
  if (session === undefined || reply.message?.result === undefined) return { caller: null, reply };
  const post = (message: Message, manners?: Manners) =>
    send(person, url(), legacyRequest({ message, session, revision, token }), manners);
  const ask: Caller['ask'] = (method, given, manners = {}) => {
    const id = `l${++last}`;
    const withToken = method === 'tools/call' ? { ...given, _meta: { progressToken: id } } : given;
    const message = { jsonrpc: '2.0', id, method, params: withToken };
    return post(message, { ...manners, id });
  };
  const caller: Caller = {
    ...{ person, ask, era: 'legacy' },
    nextId: () => `l${last + 1}`,
    cancel: async (requestId) => {
      await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    },
    answer: async ({ id }, result) => {
      await post({ jsonrpc: '2.0', id, result });
    },
    listen: (_uris, leaves) => {
      const headers = { accept: 'text/event-stream', 'mcp-session-id': session, authorization: `Bearer ${token}` };
      return send(
        person,
        url(),
        { method: 'GET', headers: { ...headers, 'mcp-protocol-version': revision } },
        { leaves },
      );
    },
    end: async () => {
      const headers = { 'mcp-session-id': session, authorization: `Bearer ${token}`, 'mcp-protocol-version': revision };
      await send(person, url(), { method: 'DELETE', headers });
    },
  };
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  if (random.chance(0.5)) await caller.ask('logging/setLevel', { level: 'info' });
  return { caller, reply };
}
