// `${env:NAME}` and `${file:path}` in any text of the configuration, for secrets. Remembers where they stood, so that
// digests take such values as keyed hashes and sentences never show them.

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Path, pointer, type Report } from './faults.ts';

export interface ReferenceDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Paths are relative to this one: the folder of the configuration file. */
  readonly folder: string;
  readonly report: Report;
  /** Values that nobody reads this time may lack what they refer to: they are left as written. Default: all are read. */
  readonly reads?: Reads | undefined;
}

/** `text`: as written. */
export type Reads = (path: Path, text: string) => boolean;

export interface Resolved {
  readonly data: unknown;
  /** Pointers of the texts that had a reference in them. */
  readonly secret: ReadonlySet<string>;
  /** Pointers of those that could not be resolved, and are left as written. */
  readonly broken: ReadonlySet<string>;
  readonly files: readonly string[];
}

const REFERENCE = /\$(\$)?\{(?:(env|file):([^{}]*)\})?/g;
/** As far as it was written like one: a shell's `${NAME}` and `${NAME:-text}` are text, and pass. */
const MEANT = /^\$\{\s*(?:([A-Za-z][\w-]*)\s*:(?![-=+?])|(env|file)(?=[^\w}]))/i;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_FILE_BYTES = 1024 * 1024;

export function resolveReferences(data: unknown, { env, folder, report, reads }: ReferenceDeps): Resolved {
  const secret = new Set<string>();
  const broken = new Set<string>();
  const files = new Set<string>();

  function valueFor(kind: string, name: string): { value: string } | { fault: string } {
    if (kind === 'file') return readSecret(resolve(folder, name), name, files);
    if (!ENV_NAME.test(name)) return { fault: '${env:…} needs the name of an environment variable' };
    const value = env[name];
    return value === undefined
      ? { fault: `the environment variable ${name} is not set: set it, or take the reference out` }
      : { value };
  }

  function resolveText(text: string, path: Path): string {
    const fail = (words: string): void => {
      broken.add(pointer(path));
      report(path, words);
    };
    return text.replace(REFERENCE, (whole, escaped?: string, kind?: string, name = '', at = 0) => {
      if (escaped !== undefined) return whole.slice(1);
      if (kind === undefined) {
        const meant = MEANT.exec(text.slice(at));
        if (meant !== null) fail(unknownReference(meant[1] ?? meant[2]!));
        return whole;
      }
      secret.add(pointer(path));
      const found = valueFor(kind, name);
      if ('value' in found) return found.value;
      if (reads === undefined || reads(path, text)) fail(found.fault);
      else broken.add(pointer(path));
      return whole;
    });
  }

  function resolveAll(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return resolveText(value, path);
    if (Array.isArray(value)) return value.map((item, i) => resolveAll(item, [...path, i]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolveAll(inner, [...path, key])]));
  }

  return { data: resolveAll(data, []), secret, broken, files: [...files] };
}

/** A misspelt reference that passed as text would be a secret that nobody has. */
function unknownReference(word: string): string {
  return `\${${word}… is no reference: write \${env:NAME} or \${file:path}, or $\${ for a plain \${`;
}

/** Without its last line break, which editors and `echo` add. */
function readSecret(file: string, name: string, files: Set<string>): { value: string } | { fault: string } {
  files.add(file);
  try {
    const about = statSync(file);
    if (!about.isFile()) return { fault: `${name} is not a file` };
    if (about.size > MAX_FILE_BYTES) return { fault: `the file ${name} is larger than 1 MiB: is it the right one?` };
    return { value: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    return {
      fault: `the file ${name} ${why}: make it, or correct the path (it is relative to the configuration file)`,
    };
  }
}
