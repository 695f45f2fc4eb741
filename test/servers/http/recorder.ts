// Writes down what an HTTP fixture is sent and says: one entry a JSON-RPC message, with the HTTP request it came in, and one
// for each request without a message. `pid` tells sessions apart, as processes are told apart over stdio.

import { appendFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface HttpPart {
  readonly verb: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpEntry {
  readonly by: 'lockkeeper' | 'server';
  readonly pid: number;
  /** Absent: a GET or a DELETE. */
  readonly message?: Readonly<Record<string, unknown>>;
  readonly http?: HttpPart;
}

export interface Recorder {
  told(incoming: IncomingMessage, body: unknown): void;
  listenIn(outgoing: ServerResponse): void;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The messages in what was written so far; keeps the unfinished rest. */
function splitter(isStream: () => boolean) {
  let rest = '';
  return (chunk: string, ended: boolean): unknown[] => {
    rest += chunk;
    if (!isStream()) {
      if (!ended || rest === '') return [];
      try {
        return [JSON.parse(rest)];
      } catch {
        return [];
      }
    }
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const data = block.split(/\r?\n/).flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
      return data.join('').startsWith('{') ? [JSON.parse(data.join('\n'))] : [];
    });
  };
}

export function createRecorder(file: string): Recorder {
  const sessions = new Map<string, number>();
  const write = (entry: HttpEntry) => appendFileSync(file, `${JSON.stringify(entry)}\n`);
  const numberOf = (session: unknown) => {
    if (typeof session !== 'string') return 0;
    if (!sessions.has(session)) sessions.set(session, sessions.size + 1);
    return sessions.get(session)!;
  };

  return {
    told(incoming, body) {
      const url = new URL(incoming.url ?? '/', 'http://fixture');
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const http = { verb: incoming.method ?? '', path: url.pathname, headers };
      const pid = numberOf(headers['mcp-session-id'] ?? url.searchParams.get('sessionId'));
      if (body === undefined) return write({ by: 'lockkeeper', pid, http });
      for (const message of isList(body) ? body : [body]) {
        write({ by: 'lockkeeper', pid, message: message as Readonly<Record<string, unknown>>, http });
      }
    },
    listenIn(outgoing) {
      let given: Readonly<Record<string, unknown>> = {};
      const headerOf = (name: string) => outgoing.getHeader(name) ?? given[name];
      const isStream = () => String(headerOf('content-type')).startsWith('text/event-stream');
      const split = splitter(isStream);
      const look = (chunk: unknown, ended: boolean) => {
        const text =
          typeof chunk === 'string' ? chunk : chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : '';
        const pid = numberOf(headerOf('mcp-session-id'));
        for (const message of split(text, ended).flatMap((one) => (isList(one) ? one : [one]))) {
          write({ by: 'server', pid, message: message as Readonly<Record<string, unknown>> });
        }
      };
      const { write: plainWrite, end: plainEnd, writeHead: plainHead } = outgoing;
      // What is given to it, no `getHeader` tells afterwards.
      outgoing.writeHead = function begun(this: ServerResponse, ...args: Parameters<ServerResponse['writeHead']>) {
        const headers = args.find((arg) => typeof arg === 'object');
        const pairs = Object.entries((headers ?? {}) as Readonly<Record<string, unknown>>);
        given = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
        return plainHead.apply(this, args);
      } as ServerResponse['writeHead'];
      outgoing.write = function written(this: ServerResponse, ...args: Parameters<ServerResponse['write']>) {
        look(args[0], false);
        return plainWrite.apply(this, args);
      } as ServerResponse['write'];
      outgoing.end = function ended(this: ServerResponse, ...args: Parameters<ServerResponse['end']>) {
        look(args[0], true);
        return plainEnd.apply(this, args);
      } as ServerResponse['end'];
    },
  };
}
