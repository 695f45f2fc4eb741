// What the field cases share: servers of test/servers by their file's name, and one way to ask in either era, so that a
// case is proved for both by the same lines. Raw requests, no library between the test and the wire.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { Lockkeeper, ServerWish } from '../harness/lockkeeper.ts';
import { callLegacy, callModern, openLegacySession } from '../harness/messages.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Answered {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly result: Record<string, unknown> | undefined;
  readonly error: { readonly code: number; readonly message: string; readonly data?: Json } | undefined;
  /** The whole last message. */
  readonly message: Record<string, unknown> | null;
  /** What came before it on the same stream. */
  readonly before: readonly Record<string, unknown>[];
}

export interface AskMore {
  readonly id?: string | number;
  readonly meta?: Json;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export type Asker = (method: string, params?: Json, more?: AskMore) => Promise<Answered>;

export const ERAS = ['modern', 'legacy'] as const;
export type CallerEra = (typeof ERAS)[number];

export const fileOf = (server: string) => fileURLToPath(new URL(`../servers/${server}.mjs`, import.meta.url));

/** A server of test/servers; what is not a field of the wish goes into the server's own section. */
export function server(name: string, file: string, wish: Omit<Partial<ServerWish>, 'name' | 'args'> = {}): ServerWish {
  return { name, args: [fileOf(file)], ...wish };
}

/** The same behind `recorded.mjs`. */
export function recorded(name: string, file: string, record: string, wish: Partial<ServerWish> = {}): ServerWish {
  const env = { ...wish.env, RECORD: record };
  return { name, ...wish, args: [fileOf('recorded'), `./${file}.mjs`], env };
}

export function modernAsker(url: string, token?: string): Asker {
  return async (method, params = {}, more = {}) => {
    const wish = { method, params, ...(token !== undefined && { token }), ...more };
    return answered(await callModern(url, wish));
  };
}

/** Opens a session; every ask goes into it. */
export async function legacyAsker(
  url: string,
  options: { readonly token?: string; readonly revision?: string; readonly capabilities?: Json } = {},
): Promise<Asker & { readonly session: string; readonly initialized: Json }> {
  const { session, result, message } = await openLegacySession(url, options);
  assert.ok(session !== null && result !== undefined, JSON.stringify(message));
  const revision = String(result.protocolVersion);
  const ask: Asker = async (method, params = {}, more = {}) => {
    const { id = 1, meta, headers } = more;
    const token = more.token ?? options.token;
    const sent = { ...params, ...(meta !== undefined && { _meta: meta }) };
    const wish = {
      session,
      revision,
      message: { jsonrpc: '2.0', id, method, params: sent },
      ...(token !== undefined && { token }),
      ...(headers !== undefined && { headers }),
    };
    return answered(await callLegacy(url, wish));
  };
  return Object.assign(ask, { session, initialized: result });
}

export async function asker(era: CallerEra, url: string, token?: string): Promise<Asker> {
  return era === 'modern' ? modernAsker(url, token) : await legacyAsker(url, token === undefined ? {} : { token });
}

interface Called {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly message: Record<string, unknown> | null;
  readonly before: readonly Record<string, unknown>[];
}

function answered(called: Called): Answered {
  const { message } = called;
  return {
    ...called,
    result: message?.result as Answered['result'],
    error: message?.error as Answered['error'],
  };
}

export const call = (ask: Asker, name: string, args: Json = {}, more: AskMore = {}) =>
  ask('tools/call', { name, arguments: args }, more);

/** The text of the first content block; fails with the whole answer when there is none. */
export function textOf({ message, result }: Answered): string {
  const content = result?.content as { readonly text?: string }[] | undefined;
  const text = content?.[0]?.text;
  assert.ok(text !== undefined, JSON.stringify(message));
  return text;
}

export function namesOf({ result, message }: Answered, kind = 'tools', key = 'name'): string[] {
  assert.ok(Array.isArray(result?.[kind]), JSON.stringify(message));
  return (result[kind] as Record<string, string>[]).map((item) => item[key]!);
}

/** Messages that the server under test has received so far, parsed. */
export async function seenBy(ask: Asker): Promise<Record<string, unknown>[]> {
  const lines = JSON.parse(textOf(await call(ask, 'seen'))) as string[];
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Log lines of the services, parsed. */
export function logOf(lockkeeper: Lockkeeper): Record<string, unknown>[] {
  const lines = lockkeeper.process.logs().split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** What must never be in a log, whatever was done: the marks of an error nobody expected. */
export function assertCalm(lockkeeper: Lockkeeper): void {
  const logs = lockkeeper.process.logs();
  assert.doesNotMatch(logs, /unhandledRejection|uncaughtException|ended in an unexpected way|failed in an unexpected/);
}
