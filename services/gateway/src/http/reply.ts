// The one way out (http/contract.ts `HttpOut`), over a Node response: JSON, nothing, or a stream; chosen once. Knows
// back-pressure, keep-alive and whether the client is still there; knows nothing of JSON-RPC.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Accepts, readAccept } from './accept.ts';
import type { Body, HttpOut, SseStream } from './contract.ts';
import { createSse } from './sse.ts';
import type { Wheel } from './wheel.ts';

export interface ReplyDeps {
  readonly wheel: Wheel;
  readonly keepAliveMs: number;
  /** On every answer: the exchange id, and CORS where the page is on the list. */
  readonly headers: Record<string, string>;
  readonly draining: () => boolean;
  readonly onResponse: (status: number) => void;
  readonly onStream: (change: 1 | -1) => void;
}

/** Up to this size a body is written together with its head. */
const TEXT_BYTES = 16 * 1024;
/** Bodies of strangers up to this size are read off, to keep the connection; larger ones cost it. */
const DISCARD_BYTES = 64 * 1024;

export function createReply(request: IncomingMessage, response: ServerResponse, deps: ReplyDeps): HttpOut {
  return new Reply(request, response, deps);
}

class Reply implements HttpOut {
  readonly accepts: Accepts;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly deps: ReplyDeps;
  private chosen = false;
  private vanished = false;
  private listener: (() => void) | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, deps: ReplyDeps) {
    this.request = request;
    this.response = response;
    this.deps = deps;
    this.accepts = readAccept(request.headers.accept);
    // `close` of the response, not `end` of the request (protocol.md §2.5).
    response.on('close', () => {
      if (response.writableEnded) return;
      this.vanished = true;
      this.listener?.();
      this.listener = null;
    });
    response.on('error', ignore);
  }

  get committed(): boolean {
    return this.chosen;
  }

  json(status: number, body: Body, headers?: Record<string, string>): void {
    if (!this.choose(status)) return;
    const bytes = byteLength(body);
    this.response.writeHead(status, {
      ...this.head(),
      'content-type': 'application/json',
      'content-length': bytes,
      ...headers,
    });
    if (this.request.method === 'HEAD') this.response.end();
    else this.send(body, bytes);
    this.watchLargeBody(bytes);
  }

  empty(status: number, headers?: Record<string, string>): void {
    if (!this.choose(status)) return;
    const length = status === 204 ? {} : { 'content-length': 0 };
    this.response.writeHead(status, { ...this.head(), ...length, ...headers });
    this.response.end();
  }

  sse(headers?: Record<string, string>): SseStream {
    const { wheel, keepAliveMs, onStream } = this.deps;
    if (this.choose(200)) {
      this.response.writeHead(200, {
        ...this.head(),
        'content-type': 'text/event-stream',
        'x-accel-buffering': 'no',
        ...headers,
      });
      this.response.flushHeaders();
      onStream(1);
      this.response.once('close', () => onStream(-1));
    }
    const stream = createSse(this.response);
    wheel.add(stream, keepAliveMs);
    return stream;
  }

  onVanish(listener: () => void): void {
    if (this.vanished) listener();
    else this.listener = listener;
  }

  private send(body: Body, bytes: number): void {
    const { response } = this;
    if (typeof body === 'string') response.end(body);
    else if (!(body instanceof Uint8Array)) {
      response.cork();
      for (const piece of body) response.write(piece);
      response.end();
      response.uncork();
    } else if (bytes > TEXT_BYTES) response.end(body);
    // As text that stands for its bytes, which Node joins to the head: one piece to write instead of two.
    else response.end(Buffer.from(body.buffer, body.byteOffset, bytes).toString('latin1'), 'latin1');
  }

  private choose(status: number): boolean {
    if (this.chosen || this.vanished) return false;
    this.chosen = true;
    this.deps.onResponse(status);
    return true;
  }

  private head(): Record<string, string> {
    const close = this.deps.draining() || leavesBody(this.request);
    const connection: Record<string, string> = close ? { connection: 'close' } : {};
    return { 'cache-control': 'no-store', ...this.deps.headers, ...connection };
  }

  /** A client that asks for megabytes and never reads them is let go (auth-security.md T-47). */
  private watchLargeBody(bytes: number): void {
    if (bytes > DISCARD_BYTES) this.deps.wheel.add(createSse(this.response), this.deps.keepAliveMs);
  }
}

/** A refused upload is not read to its end (T-48); a small one is, so that the connection can serve the next. */
function leavesBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const length = request.headers['content-length'];
  return length === undefined ? request.headers['transfer-encoding'] !== undefined : Number(length) > DISCARD_BYTES;
}

function byteLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

function ignore(): void {
  // the client is gone; `close` tells what matters
}
