// JSON lines by pino, the same from every service. What may be said is a closed list of fields (auth-security RD-1): a key
// that is not on it is dropped, so no request, header, token, argument or config object can reach a line by mistake. Each
// service has its own list, and its own narrow `Log` over this.

import { destination, pino } from 'pino';
import { cleanText } from './text.ts';

export interface LineSink {
  write(text: string): unknown;
}

export type Level = 'debug' | 'info' | 'warn' | 'error';

export interface Lines {
  say(level: Level, event: string, fields: object): void;
  /** Where they go: for who writes lines of another kind beside them. */
  readonly sink: LineSink;
  /** Resolves when everything is written out. */
  flush(): Promise<void>;
}

export interface LinesWish {
  readonly level: string;
  readonly service: string;
  /** What may be said; an error goes by `err` or `error`. */
  readonly fields: readonly string[];
  /** How the text of some of them is shown. Default: cleaned, and bounded at its end. */
  readonly shown?: Readonly<Record<string, (text: string) => string>>;
  /** `joined`: several share a write, which costs more than they do, and a line waits no longer than a moment. */
  readonly writes: 'at-once' | 'joined';
  /** Default: standard output. */
  readonly sink?: LineSink | undefined;
}

const WRITES = {
  // Not 0: a flush would then not wait for what is being written.
  'at-once': { minLength: 1 },
  joined: { minLength: 32_768, maxWrite: 65_536, periodicFlush: 100 },
} as const;

export function createLines({ level, service, fields, shown = {}, writes, sink }: LinesWish): Lines {
  const stream = sink ?? destination({ fd: 1, sync: false, ...WRITES[writes] });
  const lines = pino(
    {
      level,
      base: { service },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      messageKey: 'event',
      formatters: { log: allowing(new Set(fields), shown) },
    },
    stream,
  );
  return {
    say: (at, event, said) => lines[at](said, event),
    sink: stream,
    flush: () => new Promise<void>((done) => lines.flush(() => done())),
  };
}

/** The serializer behind every line. */
function allowing(allowed: ReadonlySet<string>, shown: NonNullable<LinesWish['shown']>) {
  return (fields: Record<string, unknown>): Record<string, unknown> => {
    const out: Record<string, unknown> = {};
    for (const key in fields) {
      const value = fields[key];
      if (key === 'error' || key === 'err') out.error = describeError(value);
      else if (!allowed.has(key)) continue;
      else if (typeof value === 'string') out[key] = (shown[key] ?? cleanText)(value);
      else if (typeof value === 'number' || typeof value === 'boolean') out[key] = value;
    }
    return out;
  };
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
