// Fingerprints of configuration that all services must compute alike, on any machine: over canonical JSON of what the
// file says, paths as written. Values that came from the environment or a file, and all values of `env` and of headers, enter as
// keyed hashes: a digest is logged and stored, and a short secret could be guessed from a plain hash (design §5 "Reload").

import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { type Path, pointer } from './faults.ts';

export interface Digester {
  /** Hex SHA-256 of the value at `path`. */
  of(value: unknown, path: Path): string;
}

const FIXED = 'lockkeeper configuration digest, no link.secret';
const INFO = 'lockkeeper configuration digest';

export function createDigester(linkSecret: string | undefined, secret: ReadonlySet<string>): Digester {
  const key = Buffer.from(hkdfSync('sha256', linkSecret ?? FIXED, '', INFO, 32));

  function canonical(value: unknown, path: Path): string {
    if (typeof value === 'string' && (secret.has(pointer(path)) || holdsSecrets(path))) {
      return `{"keyed":"${createHmac('sha256', key).update(value).digest('hex')}"}`;
    }
    if (Array.isArray(value)) return `[${value.map((item, i) => canonical(item, [...path, i])).join(',')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
    const members = Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([k, inner]) => `${JSON.stringify(k)}:${canonical(inner, [...path, k])}`).join(',')}}`;
  }

  return { of: (value, path) => createHash('sha256').update(canonical(value, path)).digest('hex') };
}

function holdsSecrets(path: Path): boolean {
  const map = path.at(-2);
  return map === 'env' || map === 'headers' || path.at(-3) === 'credentials';
}
