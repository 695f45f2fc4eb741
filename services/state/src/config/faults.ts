// What is wrong with a configuration file: a place and a sentence that says what to do. Sentences never carry a value
// that came from the environment or from another file.

export interface ConfigFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly words: string;
}

export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[];
  /** Files that were read, or looked for: a change of any of them may heal the configuration. */
  readonly files: readonly string[];

  constructor(faults: readonly ConfigFault[], files: readonly string[]) {
    super(faults.map(faultLine).join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
    this.files = files;
  }
}

export function faultLine({ file, line, column, words }: ConfigFault): string {
  return `${file}:${line}:${column}: ${words}`;
}

/** Steps from the root of the data: keys and indices. */
export type Path = readonly (string | number)[];

/** `key`: the place of the key itself, for keys that should not be there or have no good value. */
export type Report = (path: Path, words: string, at?: 'value' | 'key') => void;

/** One text for one path, for maps and sets. */
export function pointer(path: Path): string {
  return JSON.stringify(path);
}

/** `servers[0].stdio.env.FOO`, for sentences. */
export function dotted(path: Path): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${step}`)).join('');
}
