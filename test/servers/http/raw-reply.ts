// How a raw upstream answers: in a word where it is a word, and event by event, or badly, where that is the point.

import type { ServerResponse } from 'node:http';

export interface EventWish {
  /** An object is written as JSON. */
  readonly data?: unknown;
  readonly id?: string;
  readonly event?: string;
  readonly retry?: number;
}

export interface Stream {
  event(wish: EventWish): void;
  comment(text: string): void;
  /** As it is. */
  write(bytes: string | Uint8Array): void;
  end(): void;
  /** The connection is gone in the middle. */
  cut(): void;
  readonly closed: Promise<void>;
}

export interface Reply {
  json(message: unknown, status?: number, headers?: Readonly<Record<string, string>>): void;
  /** Any body at all. */
  body(status: number, headers: Readonly<Record<string, string>>, body?: string | Uint8Array): void;
  stream(headers?: Readonly<Record<string, string>>): Stream;
  /** Resets the connection before a byte. */
  reset(): void;
  /** When the other side has closed it, or we have. */
  readonly closed: Promise<void>;
  readonly raw: ServerResponse;
}

const textOf = (data: unknown) => (typeof data === 'string' ? data : JSON.stringify(data));

function eventText({ data, id, event, retry }: EventWish): string {
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    `data: ${data === undefined ? '' : textOf(data)}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

export function replyOf(outgoing: ServerResponse): Reply {
  const closed = new Promise<void>((resolve) => outgoing.on('close', resolve));
  const body: Reply['body'] = (status, headers, text) => {
    outgoing.writeHead(status, headers);
    outgoing.end(text);
  };
  return {
    raw: outgoing,
    closed,
    body,
    json: (message, status = 200, headers = {}) =>
      body(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(message)),
    stream: (headers = {}) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
      outgoing.flushHeaders();
      return {
        event: (wish) => void outgoing.write(eventText(wish)),
        comment: (text) => void outgoing.write(`: ${text}\n\n`),
        write: (bytes) => void outgoing.write(bytes),
        end: () => void outgoing.end(),
        cut: () => void outgoing.socket?.destroy(),
        closed,
      };
    },
    reset: () => void outgoing.socket?.resetAndDestroy(),
  };
}
