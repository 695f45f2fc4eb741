// One YAML file to one snapshot, or to all its faults at once. Reads files and the given environment; keeps nothing.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { buildSnapshot } from './build.ts';
import { checkAuth } from './check/auth.ts';
import { checkLimits, checkListen, checkSeal } from './check/listen.ts';
import { checkNames } from './check/names.ts';
import { checkRemote } from './check/remote.ts';
import { checkRoutes } from './check/routes.ts';
import { checkServers } from './check/servers.ts';
import { createDigester } from './digest.ts';
import { parseSource, type SourceDocument } from './document.ts';
import type { Draft } from './draft.ts';
import { ConfigError, type ConfigFault, type Path, pointer, type Report } from './faults.ts';
import { type Reads, resolveReferences } from './references.ts';
import type { ConfigShape } from './shape.ts';
import { validateAgainstSchema } from './validate.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Loaded {
  readonly snapshot: Snapshot;
  /** The configuration file and every file that it took a value from. */
  readonly files: readonly string[];
}

const CHECKS = [checkNames, checkRoutes, checkAuth, checkServers, checkRemote, checkListen, checkLimits, checkSeal];
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** Throws a ConfigError with every fault there is. */
export function loadConfig(path: string, env: Environment): Snapshot {
  return readConfig(path, env).snapshot;
}

/**
 * For a tool that uses a part of it and is run where the secrets of the rest are not: what it does not read may refer to
 * what is not there, and is in the snapshot as it was written.
 */
export function loadPart(path: string, env: Environment, reads: Reads): Snapshot {
  return readConfig(path, env, reads).snapshot;
}

export function readConfig(path: string, env: Environment, reads?: Reads): Loaded {
  const file = resolve(path);
  const parsed = parseSource(readSource(path, file));
  if (parsed.kind === 'faults')
    throw new ConfigError(
      parsed.faults.map((fault) => ({ file: path, ...fault })),
      [file],
    );
  const { document } = parsed;
  const { report, faults, forget } = collector(path, document);
  const folder = dirname(file);
  const absolute = (relative: string): string => resolve(folder, relative);

  const resolved = resolveReferences(document.data, { env, folder, report, reads });
  const files = [file, ...resolved.files];
  forget(resolved.broken);
  // Values are filled in place below; the document keeps what was written.
  const data = structuredClone(resolved.data) as Record<string, unknown>;
  validateAgainstSchema(data, report);
  const draft = createDraft(document, data, { absolute, reads: reads ?? (() => true) });
  for (const check of CHECKS) check(draft, report);
  if (faults.length > 0) throw new ConfigError(inOrder(faults), files);

  const shape = data as unknown as ConfigShape;
  const digester = createDigester(shape.link.secret, resolved.secret);
  return { snapshot: buildSnapshot(shape, { digester, absolute }), files };
}

function readSource(path: string, file: string): string {
  const fault = (words: string): ConfigError => new ConfigError([{ file: path, line: 1, column: 1, words }], [file]);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw fault(`the configuration file ${why}: name it with --config or LOCKKEEPER_CONFIG`);
  }
  if (bytes.length > MAX_FILE_BYTES) throw fault('the configuration file is larger than 16 MiB: is it the right one?');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw fault('the configuration file is not UTF-8: save it as UTF-8');
  }
}

interface Collector {
  readonly report: Report;
  readonly faults: ConfigFault[];
  /** Nothing more is said of these: their values are not there. */
  forget(pointers: ReadonlySet<string>): void;
}

/** The first fault of a value is the one to mend; what else is wrong with it may follow from that. */
function collector(file: string, document: SourceDocument): Collector {
  const faults: ConfigFault[] = [];
  const told = new Set<string>();
  const report: Report = (path, words, at = 'value') => {
    // Keys that lack, or are too many, are faults of one map and independent of each other.
    if (at === 'value') {
      if (told.has(pointer(path))) return;
      told.add(pointer(path));
    }
    faults.push({ file, ...document.placeOf(path, at), words });
  };
  const forget = (pointers: ReadonlySet<string>): void => {
    for (const one of pointers) told.add(one);
  };
  return { report, faults, forget };
}

function createDraft(
  document: SourceDocument,
  data: Readonly<Record<string, unknown>>,
  rest: Pick<Draft, 'absolute' | 'reads'>,
): Draft {
  return {
    root: { path: [], value: data },
    written: (path) => document.has(path),
    shown: (path) => JSON.stringify(valueAt(document.data, path) ?? null),
    ...rest,
  };
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const step of path) value = (value as Record<string | number, unknown> | null | undefined)?.[step];
  return value;
}

function inOrder(faults: readonly ConfigFault[]): ConfigFault[] {
  return [...faults].sort((a, b) => a.line - b.line || a.column - b.column);
}
