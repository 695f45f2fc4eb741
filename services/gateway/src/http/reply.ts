// The one way out (http/contract.ts `HttpOut`), over a Node response: JSON, nothing, or a stream; chosen once. Knows
// back-pressure, keep-alive and whether the client is still there; knows nothing of JSON-RPC.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Accepts, readAccept } from './accept.ts';
import type { Body, HttpOut, SseStream } from './contract.ts';
import { byteLength } from './pieces.ts';
import { createSse } from './sse.ts';
import type { Wheel } from './wheel.ts';

export interface ReplyDeps {
  readonly wheel: Wheel;
  readonly keepAliveMs: number;
  /** On every answer: CORS where the page is on the list. */
  readonly headers: Record<string, string>;
  /** Its id, on every answer that has one. */
  readonly exchange: string | null;
  readonly draining: () => boolean;
  readonly onResponse: (status: number) => void;
  readonly onStream: (change: 1 | -1) => void;
}

/** Up to this size a body is written together with its head. */
const TEXT_BYTES = 16 * 1024;
/** Bodies of strangers up to this size are read off, to keep the connection; larger ones cost it. */
const DISCARD_BYTES = 64 * 1024;

export interface TrackedOut extends HttpOut {
  /** Calls back once the reply has been taken by the client's side of the connection, or the client is gone. */
  readonly replied: (done: () => void) => void;
}

export function createReply(request: IncomingMessage, response: ServerResponse, deps: ReplyDeps): TrackedOut {
  return new Reply(request, response, deps);
}

class Reply implements TrackedOut {
  readonly accepts: Accepts;
  refused: HttpOut['refused'] = undefined;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly deps: ReplyDeps;
  private chosen = false;
  private vanished = false;
  private listener: (() => void) | null = null;
  /** The calls of a batch share a reply. */
  private waiting: (() => void)[] | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, deps: ReplyDeps) {
    this.request = request;
    this.response = response;
    this.deps = deps;
    this.accepts = readAccept(request.headers.accept);
    // `close` of the response, not `end` of the request (protocol.md §2.5).
    response.on('close', () => this.closed());
    response.on('error', ignore);
  }

  readonly replied = (done: () => void): void => {
    if (this.response.closed || this.response.destroyed) done();
    else if (this.waiting === null) this.waiting = [done];
    else this.waiting.push(done);
  };

  private closed(): void {
    const { listener, waiting } = this;
    this.listener = null;
    this.waiting = null;
    if (!this.response.writableEnded) {
      this.vanished = true;
      listener?.();
    }
    if (waiting !== null) for (const done of waiting) done();
  }

  get committed(): boolean {
    return this.chosen;
  }

  json(status: number, body: Body, headers?: Record<string, string>): void {
    if (!this.choose(status)) return;
    const bytes = byteLength(body);
    const fields = this.head();
    fields['content-type'] = 'application/json';
    fields['content-length'] = String(bytes);
    for (const name in headers) fields[name] = headers[name]!;
    this.response.writeHead(status, fields);
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
    const stream = createSse(this.response, keepAliveMs);
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
    else response.end(bufferOf(body).toString('latin1'), 'latin1');
  }

  private choose(status: number): boolean {
    if (this.chosen || this.vanished) return false;
    this.chosen = true;
    this.deps.onResponse(status);
    return true;
  }

  private head(): Record<string, string> {
    const { exchange, headers } = this.deps;
    const fields: Record<string, string> =
      exchange === null
        ? { 'cache-control': 'no-store' }
        : { 'cache-control': 'no-store', 'lockkeeper-exchange': exchange };
    for (const name in headers) fields[name] = headers[name]!;
    if (this.deps.draining() || leavesBody(this.request)) fields.connection = 'close';
    return fields;
  }

  /** A client that asks for megabytes and never reads them is let go (auth-security.md T-47). */
  private watchLargeBody(bytes: number): void {
    if (bytes > DISCARD_BYTES)
      this.deps.wheel.add(createSse(this.response, this.deps.keepAliveMs), this.deps.keepAliveMs);
  }
}

/** A refused upload is not read to its end (T-48); a small one is, so that the connection can serve the next. */
function leavesBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const length = request.headers['content-length'];
  return length === undefined ? request.headers['transfer-encoding'] !== undefined : Number(length) > DISCARD_BYTES;
}

function bufferOf(body: Uint8Array): Buffer {
  return body instanceof Buffer ? body : Buffer.from(body.buffer, body.byteOffset, body.length);
}

function ignore(): void {
  // the client is gone; `close` tells what matters
}
