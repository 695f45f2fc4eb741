// Legacy sessions over HTTP for the fixtures' own measure: one transport and one server a session id.

import { randomUUID } from 'node:crypto';
import type { Handler } from './serve-http.ts';

interface Session {
  handleRequest(request: Request): Promise<Response>;
}

interface Hooks {
  readonly sessionIdGenerator: () => string;
  readonly onsessioninitialized: (id: string) => void;
  readonly onsessionclosed: (id: string) => void;
}

/** `open` makes a connected transport; both SDKs' web-standard transports fit. */
export function createSessions(open: (hooks: Hooks) => Promise<Session>): Handler {
  const sessions = new Map<string, Session>();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) {
      const error = { code: -32001, message: 'Session not found' };
      return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
    }
    let session: Session | null = null;
    session = await open({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (fresh) => {
        if (session) sessions.set(fresh, session);
      },
      onsessionclosed: (ended) => {
        sessions.delete(ended);
      },
    });
    return session.handleRequest(request);
  };
}
