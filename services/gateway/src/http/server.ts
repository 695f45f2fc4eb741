// The public HTTP server (Fastify). It owns sockets, header limits and timeouts; every request goes to the one
// endpoint from the first hook, before Fastify looks at a body, and answers itself. Routes are ours (http/paths.ts),
// so that a reload counts at once.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import type { Refusal } from '../errors.ts';
import type { Log } from '../observe/logger.ts';
import { trackConnections } from './connections.ts';
import { createDoor, type EndpointDeps } from './door.ts';
import { createEndpoint } from './endpoint.ts';
import { MAX_WAIT_MS } from './intake.ts';
import { renderErrorText, retryHeaders, statusOf } from './refuse.ts';

export interface HttpServer {
  /** Resolves to the port bound. */
  listen(): Promise<number>;
  /**
   * For `leadMs` goes on as before, but keeps no connection (whoever balances load has yet to notice); then takes no new
   * one and no new request, lets those under way end for the rest of `drainMs`, and breaks what is left.
   */
  close(drainMs: number, leadMs?: number): Promise<void>;
}

export interface HttpServerDeps extends Omit<EndpointDeps, 'draining'> {
  readonly log: Log;
  /** Called when the drain is over and something is still open. */
  readonly abort: () => void;
  /** Ends streams that would never end by themselves; what may end by itself has so long. */
  readonly drain: (drainMs: number) => Promise<void>;
  readonly setTimer: (ms: number, run: () => void) => { clear(): void };
}

const MAX_HEADER_BYTES = 32 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
/** A body may wait before it is read (http/intake.ts), and still has time to come. */
const REQUEST_TIMEOUT_MS = MAX_WAIT_MS + 15_000;
const KEEP_ALIVE_MS = 65_000;
/** A client that is told of the end closes its side at once; one that does not is not waited for. */
const PARTING_MS = 500;
const BROKEN = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error."}}';

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  let draining = false;
  let closing = false;
  const walk = createEndpoint(createDoor({ ...deps, draining: () => draining }));
  const app = createApp((request, response) => {
    connections.serving(request, response);
    if (closing) {
      deps.metrics.httpResponse(request.method ?? '', statusOf(LEAVING));
      return turnAway(response, deps.newId());
    }
    walk(request, response).catch((error: unknown) => {
      deps.log.error('a request ended in an unexpected way', { error });
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'application/json', connection: 'close' }).end(BROKEN);
    });
  });
  const connections = trackConnections(app.server);
  return {
    async listen() {
      const { host, port } = deps.config.current().listen;
      await app.listen({ host, port, listenTextResolver: () => '' });
      return (app.server.address() as AddressInfo).port;
    },
    async close(drainMs, leadMs = 0) {
      const until = deps.elapsed() + drainMs;
      draining = true;
      if (leadMs > 0) await new Promise<void>((over) => deps.setTimer(Math.min(leadMs, drainMs), over));
      closing = true;
      connections.drain();
      await deps.drain(Math.max(0, until - deps.elapsed()));
      await atMost(deps, Math.max(0, until - deps.elapsed()), connections.whenQuiet);
      deps.abort();
      await atMost(deps, PARTING_MS, connections.whenGone);
      const closed = app.close();
      app.server.closeAllConnections();
      await closed;
      deps.wheel.close();
    },
  };
}

function atMost(
  { setTimer }: Pick<HttpServerDeps, 'setTimer'>,
  ms: number,
  when: (done: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const last = setTimer(ms, resolve);
    when(() => {
      last.clear();
      resolve();
    });
  });
}

/** A request that came on a kept connection in the very moment: nothing of it was done, it may be sent elsewhere. */
function turnAway(response: ServerResponse, xid: string): void {
  const body = renderErrorText(LEAVING, undefined, xid);
  response.writeHead(statusOf(LEAVING), {
    ...retryHeaders(LEAVING),
    'content-type': 'application/json',
    'content-length': body.length,
    'cache-control': 'no-store',
    connection: 'close',
    'lockkeeper-exchange': xid,
  });
  response.end(body);
}

const LEAVING: Refusal = {
  reason: 'unavailable',
  message: 'This replica is being stopped and has not taken the request.',
  next: 'Send it again on a new connection.',
};

// `httpAllowHalfOpen` stays off: a client's FIN is its going away. A client that leaves and one that has only finished
// sending look alike until something is written, and leaving has to end the call now (protocol.md §2.5).

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

function createApp(handle: Handler): FastifyInstance {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
    },
    // One path for the framework whatever was asked: what a path means is decided by the endpoint, from `originalUrl`.
    rewriteUrl: () => '/',
    return503OnClosing: false,
    clientErrorHandler: refuseUnreadable,
  });
  app.addHook('onRequest', (request, reply, _done) => {
    reply.hijack();
    const raw = request.raw;
    raw.url = request.originalUrl;
    handle(raw, reply.raw);
  });
  app.setNotFoundHandler((_request, reply) => {
    reply.hijack();
  });
  return app;
}

/** What Node's parser refuses: no request, so no exchange. The text is JSON-RPC all the same (protocol.md §2.1 (c)). */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, words] = STATUS[error.code ?? ''] ?? ['400 Bad Request', 'This is not HTTP that can be read.'];
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32600, message: words } });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

const STATUS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are larger than 32 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
};
