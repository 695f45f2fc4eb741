// An MCP server over bare node:http inside the test's own process: it writes down every request with its headers and bytes,
// is correct for its kind unless told otherwise, and does what a test tells it for the requests that the test names. Real
// sockets, no SDK: nothing repairs what goes over the wire.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Kind, plainAnswers } from './raw-plain.ts';
import { type Reply, replyOf } from './raw-reply.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Seen {
  readonly verb: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As they came, names in their own case, repeated ones included. */
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** Parsed; null without a body or with one that is no JSON. */
  readonly message: (Json & { readonly method?: string; readonly id?: string | number; readonly params?: Json }) | null;
  /** Tells connections apart: 1 is the first. */
  readonly connection: number;
}

/** What a request is called in tests: the JSON-RPC method, `response`, or the verb of what carries no message. */
export const kindOf = ({ message, verb }: Seen): string => message?.method ?? (message ? 'response' : verb);

export type Act = (reply: Reply, seen: Seen) => unknown;

export interface RawUpstream {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** Those of one name (`kindOf`), in order. */
  of(kind: string): readonly Seen[];
  /** Deals with the next requests of this name: `times` of them, default all from now on. The last one said wins. */
  when(kind: string, act: Act, times?: number): void;
  /** Back to what it is without being told otherwise; what was seen is kept. */
  behave(): void;
  /** All legacy sessions are forgotten: their ids are answered 404 from now on. */
  forget(): void;
  /** Sessions that are open. */
  readonly sessions: ReadonlySet<string>;
  /** Every connection is cut. */
  cut(): void;
  close(): Promise<void>;
}

export interface RawWish {
  readonly kind: Kind;
  /** Form of replies to requests. */
  readonly replies?: 'json' | 'sse';
  /** Legacy: the newest revision it knows; default 2025-11-25. */
  readonly revision?: string;
  readonly tools?: readonly Json[];
  readonly capabilities?: Json;
  /** Gives the result of a call; default: the text says name and arguments. */
  readonly call?: (name: string, args: Json, seen: Seen) => unknown;
  /** Results of other methods. */
  readonly methods?: Readonly<Record<string, (params: Json, seen: Seen) => unknown>>;
  /** Default: loopback by its number. */
  readonly host?: string;
  readonly port?: number;
}

interface Told {
  readonly kind: string;
  readonly act: Act;
  left: number;
}

function read(incoming: IncomingMessage, body: Buffer, connection: number): Seen {
  const text = body.toString('utf8');
  let message: Seen['message'] = null;
  try {
    message = text === '' ? null : (JSON.parse(text) as Seen['message']);
  } catch {
    message = null;
  }
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const { method: verb = '', url: path = '/', rawHeaders } = incoming;
  return { verb, path, headers, rawHeaders, text, message, connection };
}

export async function startRawUpstream(wish: RawWish): Promise<RawUpstream> {
  const seen: Seen[] = [];
  const sockets = new Map<Socket, number>();
  let connections = 0;
  let told: Told[] = [];
  const plain = plainAnswers(wish);

  const take = (one: Seen): Act | null => {
    const found = told.findLast(({ kind, left }) => left > 0 && kind === kindOf(one));
    if (!found) return null;
    found.left -= 1;
    return found.act;
  };
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const one = read(incoming, await buffer(incoming), sockets.get(incoming.socket) ?? 0);
    seen.push(one);
    const reply = replyOf(outgoing);
    await (take(one) ?? plain.act)(reply, one);
  };
  const server = createServer((incoming, outgoing) => {
    outgoing.on('error', () => {});
    answer(incoming, outgoing).catch((error: unknown) => {
      // A test looks at what it got; this says why.
      console.error('raw upstream', error);
      outgoing.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.set(socket, ++connections);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(wish.port ?? 0, wish.host ?? '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets.keys()) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}${wish.kind === 'sse' ? '/sse' : '/mcp'}`,
    port,
    seen,
    sessions: plain.sessions,
    of: (kind) => seen.filter((one) => kindOf(one) === kind),
    when: (kind, act, times = Number.POSITIVE_INFINITY) => void told.push({ kind, act, left: times }),
    behave: () => {
      told = [];
    },
    forget: plain.forget,
    cut,
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
