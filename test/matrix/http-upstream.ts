// The servers of the matrix over HTTP: the published SDKs in each way they can be served, started as processes, with what
// each of them can do at all. Where replies are JSON nothing comes before the result; where there are no sessions nothing is
// asked, cancelled or told afterwards.

import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Running, startProcess } from '../harness/process.ts';
import type { HttpEntry } from '../servers/http/recorder.ts';
import type { Era } from './cell.ts';
import { type Entry, linesOf, type Upstream } from './upstream.ts';

export interface HttpKind {
  readonly name: string;
  readonly says: string;
  readonly file: 'sdk-v1' | 'sdk-v2' | 'tasks';
  readonly args: readonly string[];
  readonly era: Era;
  /** Features by name. */
  readonly can: readonly string[];
  /** More of the server's section. */
  readonly more?: Readonly<Record<string, unknown>>;
}

const ASKS = ['form', 'url', 'sampling', 'roots'];
const TELLS = ['progress', 'log'];
const AFTERWARDS = ['cancel', 'list_changed', 'updated'];
const ALL = [...ASKS, ...TELLS, ...AFTERWARDS, 'completion'];

const v1 = (name: string, says: string, args: readonly string[], can: readonly string[]): HttpKind => ({
  ...{ name, says: `SDK v1, ${says}`, file: 'sdk-v1', era: 'legacy', args, can },
});
const v2 = (name: string, says: string, args: readonly string[], can: readonly string[], era: Era = 'modern') => ({
  ...{ name, says: `SDK v2, ${says}`, file: 'sdk-v2' as const, era, args, can },
});

export const HTTP_KINDS: readonly HttpKind[] = [
  v1('v1-stateful', 'sessions, SSE replies', ['stateful'], ALL),
  v1('v1-stateful-json', 'sessions, JSON replies', ['stateful', '--json'], [...AFTERWARDS, 'completion']),
  v1('v1-stateless', 'no sessions, SSE replies', ['stateless'], [...TELLS, 'completion']),
  v1('v1-stateless-json', 'no sessions, JSON replies', ['stateless', '--json'], ['completion']),
  v1('v1-sse', 'HTTP+SSE', ['sse'], ALL),
  v2('v2-modern', '2026-07-28, JSON or SSE as needed', ['modern'], ALL),
  v2('v2-modern-json', '2026-07-28, JSON replies', ['modern', '--json'], [...ASKS, 'cancel', 'updated', 'completion']),
  v2('v2-modern-sse', '2026-07-28, SSE replies', ['modern', '--sse'], ['form', ...TELLS, 'cancel', 'completion']),
  v2('v2-dual', 'both eras', ['dual'], ['form', 'progress']),
  // Its url questions carry no id that their end could be told by (2025-11-25).
  v2('v2-stateful', 'legacy sessions', ['stateful'], ['form', 'sampling', 'roots', ...TELLS, 'completion'], 'legacy'),
  {
    ...v2('v2-stateless', 'legacy without sessions', ['dual'], ['progress', 'completion'], 'legacy'),
    more: { era: 'legacy' },
  },
];

export interface HttpUpstream extends Upstream {
  /** Every request, with and without a message. */
  requests(): readonly HttpEntry[];
  stop(): Promise<void>;
}

export async function httpUpstream(kind: HttpKind, folder: string): Promise<HttpUpstream> {
  const file = `${folder}/${kind.name}`;
  appendFileSync(file, '');
  const program = fileURLToPath(new URL(`../servers/http/${kind.file}.ts`, import.meta.url));
  const running: Running = await startProcess({ args: [program, ...kind.args], env: { RECORD: file } });
  const everything = () => linesOf<HttpEntry>(file);
  const ever = () => everything().filter((one) => one.message !== undefined) as unknown as readonly Entry[];
  return {
    era: kind.era,
    wish: { name: kind.name, http: { url: String(running.ready.url) }, ...(kind.more && { more: kind.more }) },
    ever,
    mark: () => {
      const from = ever().length;
      return () => ever().slice(from);
    },
    requests: () => everything().filter(({ http }) => http !== undefined),
    stop: running.kill,
  };
}
