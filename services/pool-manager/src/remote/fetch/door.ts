// One way out to one server: a bounded pool of guarded connections that is there while it is used. Whether a request may
// have reached the server is known from when it is handed to a connection.

import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { HttpSpec } from '@lockkeeper/protocol/config/settings';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { type RemoteDoor, RemoteError, type RemoteRequest, type RemoteResponse } from '../contract.ts';
import type { Breaker } from './breaker.ts';
import type { Credentials } from './credentials.ts';
import { failureOf, GIVEN_UP } from './failure.ts';
import { requestHeaders } from './headers.ts';
import { redirectTarget } from './redirect.ts';
import { discardBody, responseOf } from './response.ts';
import { createResting } from './resting.ts';

export interface DoorDeps {
  readonly http: HttpSpec;
  readonly connect: buildConnector.connector;
  /** One connection is to serve as much as it can: over HTTP/2 all, else what comes one after another. */
  readonly pinned: boolean;
  /** Unused connections are kept so long, unless the server says otherwise. */
  readonly keepAliveMs: number;
  readonly userAgent: string;
  readonly credentials: Credentials;
  readonly breaker: Breaker;
  used(): void;
  /** A request is over, and its connection at rest. */
  rested(): void;
  /** Told when it is closed. */
  closed(): void;
}

export interface Door extends RemoteDoor {
  /** Ends one connection; false: it has none but those in use. */
  letGo(): boolean;
}

/** Larger bodies are not copied into one piece. */
const COPY_BYTES = 64 * 1024;
const MAX_KEEP_ALIVE_MS = 600_000;

/** Marks the options of one request; the dispatcher in front of the pool tells when it begins. */
type Begun = { begun?: () => void; over?: () => void };

export function createDoor(deps: DoorDeps): Door {
  const { http } = deps;
  const home = new URL(http.url);
  const resting = createResting(deps.connect);
  const pool = new Pool(home.origin, {
    connections: http.maxConnections,
    connect: deps.connect,
    factory: resting.factory,
    allowH2: deps.pinned,
    headersTimeout: http.headersMs,
    bodyTimeout: http.idleStreamMs,
    keepAliveTimeout: deps.keepAliveMs,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    maxHeaderSize: http.maxHeaderBytes,
  });
  const way = pool.compose(telling);
  let closing: Promise<void> | null = null;

  async function once(request: RemoteRequest, url: URL, headers: Record<string, string>) {
    const { breaker } = deps;
    breaker.enter();
    let sent = false;
    try {
      const options: Dispatcher.RequestOptions & Begun = {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers,
        signal: request.signal,
        begun: () => {
          sent = true;
          breaker.begun();
        },
        over: deps.rested,
        ...bodyIn(request, headers),
        ...(request.headersMs === undefined ? {} : { headersTimeout: request.headersMs }),
        ...(request.idleStreamMs === undefined ? {} : { bodyTimeout: request.idleStreamMs }),
      };
      const data = await way.request(options);
      breaker.answered(data.statusCode);
      return data;
    } catch (error) {
      const gone = request.signal.aborted || closing !== null;
      const failure = gone ? new RemoteError('aborted', GIVEN_UP, sent) : failureOf(error, url.host, sent);
      breaker.failed(failure);
      throw failure;
    }
  }

  async function send(request: RemoteRequest): Promise<RemoteResponse> {
    if (closing !== null) throw new RemoteError('aborted', 'the way to the server is closed', false);
    deps.used();
    let url = request.url === undefined ? home : placeIn(home, request.url);
    // A connection is free again one turn of the loop after its last answer.
    if (deps.pinned) await setImmediate();
    const credentials = await deps.credentials.headersFor();
    for (let hops = 0; ; hops++) {
      const headers = requestHeaders(request.headers, credentials, deps.userAgent);
      const data = await once(request, url, headers);
      try {
        const { location, 'content-encoding': encoding } = data.headers;
        const next = redirectTarget(data.statusCode, textIn(location), url, request.method, hops);
        if (next === null) {
          refuseEncoding(textIn(encoding), url.host);
          return responseOf(data, url.host, request.signal);
        }
        discardBody(data, '');
        url = next;
      } catch (error) {
        discardBody(data, 'text/event-stream');
        throw error;
      }
    }
  }

  return {
    send,
    letGo: resting.letGo,
    close() {
      if (closing === null) {
        closing = pool.destroy().catch(() => {});
        deps.closed();
      }
      return closing;
    },
  };
}

function telling(dispatch: Dispatcher['dispatch']): Dispatcher['dispatch'] {
  return (options, handler) => {
    const { begun, over } = options as Begun;
    if (begun === undefined) return dispatch(options, handler);
    return dispatch(options, {
      onRequestStart(controller, context) {
        begun();
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd(...args) {
        over?.();
        handler.onResponseEnd?.(...args);
      },
      onResponseError(...args) {
        over?.();
        handler.onResponseError?.(...args);
      },
    });
  };
}

function bodyIn({ body }: RemoteRequest, headers: Record<string, string>): Pick<Dispatcher.RequestOptions, 'body'> {
  if (body === undefined) return {};
  if (body instanceof Uint8Array) return { body };
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  if (length <= COPY_BYTES) return { body: Buffer.concat(body, length) };
  headers['content-length'] = String(length);
  return { body: Readable.from(body, { objectMode: false }) };
}

function placeIn(home: URL, text: string): URL {
  const url = URL.canParse(text, home.href) ? new URL(text, home) : null;
  if (url !== null && url.origin === home.origin && url.username === '' && url.password === '') return url;
  throw new RemoteError('redirect', `${home.host} names a place at another origin`, false);
}

function refuseEncoding(encoding: string | undefined, host: string): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new RemoteError('reset', `${host} answered compressed, which it was asked not to do`, true);
}

function textIn(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
