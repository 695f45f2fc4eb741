// The HTTP rim as the two legs see it: what came in, and the one way out. The choice between JSON and SSE is made
// once (protocol.md §2.4). Nothing behind this contract touches a socket.

import type { Member, Span } from '@lockkeeper/protocol/json/scan';
import type { Reason } from '../errors.ts';
import type { Authenticated, RequestId } from '../exchange.ts';
import type { Accepts } from './accept.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** One JSON-RPC message of a body, located and not yet judged by a leg. */
export interface Located {
  readonly bytes: Uint8Array;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | null;
  readonly id: RequestId | null;
  /** The id's own JSON text, to be echoed byte for byte (GB-080); null where `id` is. */
  readonly idText: string | null;
  /** Members of the message object, and of `params` ([] when absent). */
  readonly members: readonly Member[];
  readonly params: readonly Member[];
  /** Members of `params._meta`, where the scan has them already. */
  readonly meta?: readonly Member[] | undefined;
  readonly span: Span;
}

/** In pieces it is sent as they are: large ones are not copied. */
export type Body = Uint8Array | string | readonly Uint8Array[];

export interface SseStream {
  /** One event; `name` and `id` only for legacy streams. False: the client reads slower than we write. */
  send(data: Body, fields?: { readonly id?: string; readonly name?: string; readonly retry?: number }): boolean;
  comment(): void;
  end(): void;
  readonly bufferedBytes: number;
  readonly closed: boolean;
}

export interface HttpOut {
  /** What the client's Accept allows; no header and any wildcard allow both (GB-147). */
  readonly accepts: Accepts;
  json(status: number, body: Body, headers?: Record<string, string>): void;
  empty(status: number, headers?: Record<string, string>): void;
  /** Commits 200 text/event-stream. Keep-alive comments are the rim's business. */
  sse(headers?: Record<string, string>): SseStream;
  /** The client went away before the reply was complete. Called at most once; at once if it has happened. */
  onVanish(listener: () => void): void;
  readonly committed: boolean;
  /** Where a refusal of the whole request by a leg is recorded: no exchange has begun that would have a row. */
  refused?: ((reason: Reason, status: number) => void) | undefined;
}

export type LegacyBody =
  | { readonly kind: 'single'; readonly message: Located }
  /** 2025-03-26 batches: elements located, the array checked to be non-empty and within limits.maxBatch. */
  | { readonly kind: 'batch'; readonly messages: readonly Located[] };

/**
 * The legacy leg (lower/legacy). It renders its own refusals in the legacy shape. What it may use of this side:
 * `renderError`, `toolErrorMembers` and `statusOf` (http/refuse.ts), `readEnvelope` (era/envelope.ts), `askFrom`
 * (lower/ask.ts), `Recorder` (observe/recorder.ts: one `begin`/`end` pair per exchange writes audit row, metrics and
 * span), `progressGate` and `logFilter` (lower/events.ts).
 */
export interface LegacyLeg {
  post(ticket: Authenticated, headers: Headers, body: LegacyBody, out: HttpOut): Promise<void>;
  /** GET on the MCP path: standalone stream, resumption, or (without a session) HTTP+SSE where combined. */
  get(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void>;
  delete(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void>;
  /** GET <route>/sse (2024-11-05). */
  sseOpen(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void>;
  /** POST <route>/messages?sessionId=… */
  ssePost(ticket: Authenticated, sessionId: string, body: LegacyBody, out: HttpOut): Promise<void>;
  /** What the session that the header names has agreed on; null: there is none such, or nobody can say. */
  revisionOf(ticket: Authenticated, headers: Headers): Promise<string | null>;
  /** Ends streams at drain; calls may end by themselves for so long (default: limits.drainMs). */
  close(drainMs?: number): Promise<void>;
}
