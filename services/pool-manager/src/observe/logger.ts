// JSON lines by pino, with a closed list of fields: a key that is not on it is dropped, so that no argument, result,
// environment or specification can reach a line by mistake. What a server said on stderr comes redacted by child/.

import { type DestinationStream, destination, pino } from 'pino';
import type { Log } from '../raise/contract.ts';

const ALLOWED: ReadonlySet<string> = new Set([
  ...['xid', 'tenant', 'server', 'era', 'method', 'reason', 'evidence', 'audit', 'kind', 'detail', 'what', 'why'],
  ...['count', 'ms', 'bytes', 'pid', 'code', 'signal', 'node', 'incarnation', 'host', 'port', 'stderr', 'err', 'error'],
]);
const MAX_TEXT = 2048;
const MAX_STDERR = 16 * 1024;
/** What could forge a line or a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function clean(text: string, max: number): string {
  const cut = text.length > max ? `…${text.slice(-max)}` : text;
  return cut.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The serializer behind every line. Exported for its test. */
export function allowListed(fields: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key in fields) {
    if (!ALLOWED.has(key)) continue;
    const value = fields[key];
    if (value instanceof Error) out.error = { name: value.name, message: clean(value.message, 512) };
    else if (typeof value === 'string') out[key] = clean(value, key === 'stderr' ? MAX_STDERR : MAX_TEXT);
    else if (typeof value === 'number' || typeof value === 'boolean') out[key] = value;
  }
  return out;
}

export interface Logging {
  readonly log: Log;
  /** Resolves when everything is written out. */
  flush(): Promise<void>;
}

/** Not 0: a flush would then not wait for what is being written. */
const AT_ONCE = 1;

export function createLogging(options: { readonly level: string; readonly stream?: DestinationStream }): Logging {
  const stream = options.stream ?? destination({ fd: 1, sync: false, minLength: AT_ONCE });
  const lines = pino(
    {
      level: options.level,
      base: { service: 'pool-manager' },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      messageKey: 'event',
      formatters: { log: allowListed },
    },
    stream,
  );
  return {
    log: {
      debug: (fields, words) => lines.debug(fields, words),
      info: (fields, words) => lines.info(fields, words),
      warn: (fields, words) => lines.warn(fields, words),
    },
    flush: () => new Promise<void>((done) => lines.flush(() => done())),
  };
}
