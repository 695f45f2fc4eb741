// JSON lines by pino. What may be said is a closed list of fields (auth-security.md RD-1): a key that is not on it is
// dropped, so no request, header, token, argument or config object can reach a line by mistake. One module makes
// loggers; rooms get the narrow `Log`.

import { type DestinationStream, destination, pino } from 'pino';
import type { AuditRow } from './audit.ts';
import { createAuditLines } from './audit-lines.ts';

export interface LogFields {
  readonly xid?: string;
  readonly tenant?: string;
  readonly route?: string;
  readonly server?: string;
  readonly era?: string;
  readonly revision?: string;
  readonly method?: string;
  readonly reason?: string;
  readonly issuer?: string;
  readonly kid?: string;
  readonly status?: number;
  readonly code?: number | string;
  readonly count?: number;
  readonly ms?: number;
  readonly bytes?: number;
  readonly host?: string;
  readonly port?: number;
  readonly url?: string;
  readonly file?: string;
  readonly line?: number;
  readonly node?: string;
  readonly incarnation?: string;
  readonly version?: string;
  readonly hint?: string;
  readonly error?: unknown;
  /** pino's own name for the same. */
  readonly err?: unknown;
}

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

const ALLOWED: ReadonlySet<string> = new Set<keyof LogFields>([
  ...(['xid', 'tenant', 'route', 'server', 'era', 'revision', 'method', 'reason', 'issuer', 'kid'] as const),
  ...(['status', 'code', 'count', 'ms', 'bytes', 'host', 'port', 'url', 'file', 'line'] as const),
  ...(['node', 'incarnation', 'version', 'hint', 'error', 'err'] as const),
]);

/** A row per exchange: several share a write, which costs more than they do. A line waits no longer than this. */
const JOINED_BYTES = 32_768;
const JOINED_MS = 100;
/** Longest text of one field (RD-6). */
const MAX_TEXT = 2048;
/** What could forge a line or a terminal: controls, line separators, bidi marks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export function cleanText(text: string, max = MAX_TEXT): string {
  if (text.length <= max && isPlain(text)) return text;
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Nothing but printable ASCII: nearly every name is. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

/** An error by class, code and message; never whole (its cause may hold a request). */
function describeError(error: unknown): Record<string, string> {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = (error as { code?: unknown }).code;
  return {
    name: cleanText(error.name, 64),
    message: cleanText(error.message, 512),
    ...(typeof code === 'string' ? { code: cleanText(code, 64) } : {}),
  };
}

/** The serializer behind every line. Exported for its test. */
export function allowListed(fields: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key in fields) {
    if (!ALLOWED.has(key)) continue;
    const value = fields[key];
    if (key === 'error' || key === 'err') out.error = describeError(value);
    else if (key === 'url' && typeof value === 'string') out[key] = cleanText(value.split(/[?#]/, 1)[0] ?? '', 512);
    else if (typeof value === 'string') out[key] = cleanText(value);
    else if (typeof value === 'number' || typeof value === 'boolean') out[key] = value;
  }
  return out;
}

export interface Logging {
  readonly log: Log;
  /** The audit sink: the same stream, whatever the log level. */
  readonly writeAudit: (row: AuditRow) => void;
  /** Resolves when everything is written out. */
  flush(): Promise<void>;
}

export function createLogging(options: {
  readonly level: string;
  readonly service: string;
  /** Default: standard output. */
  readonly stream?: DestinationStream;
}): Logging {
  const stream =
    options.stream ??
    destination({ fd: 1, sync: false, minLength: JOINED_BYTES, maxWrite: 2 * JOINED_BYTES, periodicFlush: JOINED_MS });
  const base = { service: options.service };
  const time = () => `,"time":"${new Date().toISOString()}"`;
  const rows = createAuditLines(stream, options.service);
  const lines = pino(
    { level: options.level, base, timestamp: time, messageKey: 'event', formatters: { log: allowListed } },
    stream,
  );
  return {
    log: {
      debug: (event, fields = {}) => lines.debug(fields, event),
      info: (event, fields = {}) => lines.info(fields, event),
      warn: (event, fields = {}) => lines.warn(fields, event),
      error: (event, fields = {}) => lines.error(fields, event),
    },
    // The audit row is typed and cleaned where it is made; no level can switch it off.
    writeAudit: rows.write,
    flush: () => {
      rows.flush();
      return new Promise<void>((done) => lines.flush(() => done()));
    },
  };
}
