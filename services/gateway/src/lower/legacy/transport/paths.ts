// Where the HTTP+SSE endpoints of a route are (design §7): `/<route>/mcp` has `/<route>/sse` and `/<route>/messages`.

import type { Authenticated } from '../../../exchange.ts';

export function sseBase(routePath: string): string {
  return routePath.endsWith('/mcp') ? routePath.slice(0, -'/mcp'.length) : routePath;
}

/** Absolute path without origin: the same origin as the GET's by construction, whatever the client called it. */
export function messagesPath(ticket: Pick<Authenticated, 'route'>, sessionId: string, publicBaseUrl: string): string {
  const prefix = new URL(publicBaseUrl).pathname.replace(/\/+$/, '');
  return `${prefix}${sseBase(ticket.route.path)}/messages?sessionId=${sessionId}`;
}
