// An HTTP/1.1 client on a bare socket: the bytes go out exactly as given, and what comes back is parsed by nothing but this
// file, so that no library repairs a request or hides a header. For the ladder rows and for streams.

import { connect, type Socket } from 'node:net';
import { within } from './eventually.ts';
import { type Inbox, inboxOf } from './raw-inbox.ts';
import { type SseEvent, sseEvents } from './raw-sse.ts';

export interface RawResponse {
  readonly status: number;
  /** Lower-case names; repeated ones joined by ", " in order. */
  readonly headers: ReadonlyMap<string, string>;
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** Events as they come; ends when the response ends. */
  events(): AsyncGenerator<SseEvent>;
}

export interface RawConnection {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** The next response on this connection. */
  response(): Promise<RawResponse>;
  /** Ends abruptly, as a client that vanishes. */
  destroy(): void;
}

const DEADLINE_MS = 15_000;

async function* bodyOf(inbox: Inbox, headers: ReadonlyMap<string, string>, status: number): AsyncGenerator<Buffer> {
  if (status === 204 || status === 304 || status < 200) return;
  const length = headers.get('content-length');
  if (headers.get('transfer-encoding') === 'chunked') {
    for (;;) {
      const size = Number.parseInt(await inbox.line(), 16);
      if (size === 0) {
        while ((await inbox.line()) !== '');
        return;
      }
      yield await inbox.bytes(size);
      await inbox.line();
    }
  } else if (length !== undefined) {
    if (Number(length) > 0) yield await inbox.bytes(Number(length));
  } else {
    yield* inbox.rest();
  }
}

async function readResponse(inbox: Inbox): Promise<RawResponse> {
  const statusLine = await inbox.line();
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]);
  if (!status) throw new Error(`not a status line: ${statusLine}`);
  const headers = new Map<string, string>();
  for (let line = await inbox.line(); line !== ''; line = await inbox.line()) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
  }
  if (status === 100) return readResponse(inbox);
  const body = bodyOf(inbox, headers, status);
  const text = async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  };
  return {
    status,
    headers,
    text: () => within(text(), DEADLINE_MS, 'response body'),
    json: async () => JSON.parse(await within(text(), DEADLINE_MS, 'response body')),
    events: () => sseEvents(body),
  };
}

export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  const inbox = inboxOf(socket);
  await within(inbox.connected, DEADLINE_MS, 'connect');
  return {
    socket,
    write: (bytes) => socket.write(bytes),
    response: () => within(readResponse(inbox), DEADLINE_MS, 'response'),
    destroy: () => socket.destroy(),
  };
}

export interface RawRequest {
  readonly method?: string;
  /** In the order given; a list allows the same name twice. `host` and `content-length` are added unless named. */
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
}

export function requestBytes(url: string, request: RawRequest): Buffer {
  const { pathname, search, host } = new URL(url);
  const given = Array.isArray(request.headers) ? request.headers : Object.entries(request.headers ?? {});
  const has = (name: string) => given.some(([key]) => key.toLowerCase() === name);
  const body = Buffer.from(request.body ?? '');
  const lines = [`${request.method ?? 'POST'} ${pathname}${search} HTTP/1.1`];
  if (!has('host')) lines.push(`Host: ${host}`);
  for (const [name, value] of given) lines.push(`${name}: ${value}`);
  const needsLength = request.body !== undefined && !has('content-length') && !has('transfer-encoding');
  if (needsLength) lines.push(`Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** One request on a connection of its own; the caller reads the response and then `destroy`s. */
export async function sendRaw(url: string, request: RawRequest): Promise<RawResponse & { destroy(): void }> {
  const connection = await openRaw(url);
  connection.write(requestBytes(url, request));
  return { ...(await connection.response()), destroy: connection.destroy };
}
