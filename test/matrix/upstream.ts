// What a fixture server was sent and said, read from the file that its recorder writes: the upstream side of the wire.

import { appendFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServerWish } from '../harness/lockkeeper.ts';
import type { Era, Json } from './cell.ts';

export interface Entry {
  readonly by: 'lockkeeper' | 'server';
  readonly pid: number;
  readonly message: Json & { readonly method?: string; readonly id?: unknown; readonly params?: Json };
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SERVERS: Readonly<Record<'asks' | 'works', Readonly<Record<Era, string>>>> = {
  asks: { legacy: at('./servers/legacy.ts'), modern: at('./servers/modern.ts') },
  works: {
    legacy: at('../conformance/fixtures/tasks-legacy.ts'),
    modern: at('../conformance/fixtures/tasks.ts'),
  },
};

export interface Upstream {
  /** What it speaks to Lockkeeper. */
  readonly era: Era;
  readonly wish: ServerWish;
  /** From now on. */
  mark(): () => readonly Entry[];
  ever(): readonly Entry[];
}

/** The lines of a recorder's file, so far. */
export function linesOf<T>(file: string): readonly T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

export function upstream(name: string, kind: 'asks' | 'works', era: Era, folder: string): Upstream {
  const file = `${folder}/${name}`;
  appendFileSync(file, '');
  const entries = () => linesOf<Entry>(file);
  return {
    era,
    wish: { name, args: ['--import', at('./servers/record.mjs'), SERVERS[kind][era]], env: { RECORD: file } },
    ever: entries,
    mark: () => {
      const from = entries().length;
      return () => entries().slice(from);
    },
  };
}
