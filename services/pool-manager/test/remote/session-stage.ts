// One remote session over real doors to a real HTTP server that a test scripts, and what it was told and said.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpSpec } from '@lockkeeper/protocol/config/settings';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import type { Child, ExitReason, RequestFailure } from '../../src/child/contract.ts';
import type { Rates } from '../../src/child/output-rate.ts';
import type { Way } from '../../src/remote/contract.ts';
import { createRemoteSpawn } from '../../src/remote/spawn.ts';
import { bodyOf, createStage, remoteSpec } from './fetch/stage.ts';

export interface Told {
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Undefined: it had no body. */
  // biome-ignore lint/suspicious/noExplicitAny: a message of JSON-RPC
  readonly message: any;
  readonly raw: string;
  readonly aborted: Promise<void>;
}

export type Script = (told: Told, response: ServerResponse) => void | Promise<void>;

export interface Heard {
  // biome-ignore lint/suspicious/noExplicitAny: a message of JSON-RPC
  readonly message: any;
  readonly text: string;
  readonly of: number | undefined;
}

export interface SessionStage {
  readonly child: Child;
  readonly told: readonly Told[];
  readonly heard: readonly Heard[];
  readonly failures: readonly (RequestFailure & { readonly id: number })[];
  readonly faults: readonly string[];
  readonly exits: readonly ExitReason[];
  readonly url: string;
  sends(message: object): boolean;
  /** The messages that the server was sent, by method or as responses. */
  toldOf(method: string): readonly Told[];
  /** Waits for the answer to this request. */
  answerTo(id: number): Promise<Heard>;
  failureOf(id: number): Promise<RequestFailure>;
  ended(): Promise<ExitReason>;
  close(): Promise<void>;
}

/** Waits until it is there. */
export function there<T>(find: () => T | undefined): Promise<T> {
  return eventually(() => {
    const found = find();
    if (found === undefined) throw new Error('not there yet');
    return found;
  });
}

export interface StageOptions {
  readonly maxLineBytes?: number;
  readonly http?: Partial<HttpSpec>;
  readonly path?: string;
  readonly clock?: Clock;
  readonly rates?: Rates;
}

export async function createSession(way: Way, script: Script, options: StageOptions = {}): Promise<SessionStage> {
  const stage = createStage();
  const told: Told[] = [];
  const { port } = await stage.serve(async (request, response) => {
    const raw = await bodyOf(request);
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    response.on('close', () => {
      if (!response.writableEnded) resolve();
    });
    const message = raw === '' ? undefined : JSON.parse(raw);
    const one: Told = { verb: request.method!, path: request.url!, headers: request.headers, message, raw, aborted };
    told.push(one);
    await script(one, response);
  });
  const url = `http://127.0.0.1:${port}${options.path ?? '/mcp'}`;
  const heard: Heard[] = [];
  const failures: (RequestFailure & { id: number })[] = [];
  const faults: string[] = [];
  const exits: ExitReason[] = [];
  let tokens = 0;
  const spawn = createRemoteSpawn({
    doors: stage.doors(),
    clock: options.clock ?? systemClock,
    log: { debug: () => {}, info: () => {}, warn: () => {} },
    maxLineBytes: () => options.maxLineBytes ?? 1_000_000,
    token: () => `session-${++tokens}`,
    ...(options.rates && { rates: () => options.rates! }),
  });
  const child = spawn(
    remoteSpec(url, options.http ?? {}),
    {
      line(line, _found, of) {
        const text = Buffer.from(line).toString();
        heard.push({ message: JSON.parse(text), text, of });
      },
      fault: (kind, detail, id) => void faults.push(`${kind} ${id ?? ''} ${detail}`),
      failed: (id, failure) => void failures.push({ ...failure, id }),
      exit: (reason) => void exits.push(reason),
    },
    way,
  );
  return {
    child,
    told,
    heard,
    failures,
    faults,
    exits,
    url,
    sends: (message) => child.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))),
    toldOf: (method) => told.filter((one) => one.message?.method === method),
    answerTo: (id) => there(() => heard.find(({ message }) => message.id === id && !('method' in message))),
    failureOf: (id) => there(() => failures.find((one) => one.id === id)),
    ended: () => there(() => exits[0]),
    async close() {
      await child.stop('the test is over');
      await stage.close();
    },
  };
}

export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

export function events(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
}

export function event(value: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(value)}\n\n`;
}

export function result(id: unknown, more: object = {}): object {
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', ...more } };
}

export const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'lockkeeper', version: '1' } },
};

export const INITIALIZED = { method: 'notifications/initialized' };

export function introduced(id: unknown, revision = '2025-06-18'): object {
  const serverInfo = { name: 'far', version: '1' };
  return { jsonrpc: '2.0', id, result: { protocolVersion: revision, capabilities: { tools: {} }, serverInfo } };
}

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'lockkeeper', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
