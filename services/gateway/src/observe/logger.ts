// What a gateway may say of itself (auth-security RD-1), and its audit rows beside it. One module makes loggers; rooms get
// the narrow `Log`.

import { createLines, type LineSink } from '@lockkeeper/state/log/lines';
import { cleanText } from '@lockkeeper/state/log/text';
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

const FIELDS: readonly (keyof LogFields)[] = [
  ...(['xid', 'tenant', 'route', 'server', 'era', 'revision', 'method', 'reason', 'issuer', 'kid'] as const),
  ...(['status', 'code', 'count', 'ms', 'bytes', 'host', 'port', 'url', 'file', 'line'] as const),
  ...(['node', 'incarnation', 'version', 'hint'] as const),
];

/** Without what may be a secret in its query. */
const shownUrl = (url: string): string => cleanText(url.split(/[?#]/, 1)[0] ?? '', 512);

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
  readonly stream?: LineSink;
}): Logging {
  const { level, service, stream } = options;
  // There is a row for each exchange.
  const lines = createLines({
    level,
    service,
    fields: FIELDS,
    shown: { url: shownUrl },
    writes: 'joined',
    sink: stream,
  });
  const rows = createAuditLines(lines.sink, service);
  return {
    log: {
      debug: (event, fields = {}) => lines.say('debug', event, fields),
      info: (event, fields = {}) => lines.say('info', event, fields),
      warn: (event, fields = {}) => lines.say('warn', event, fields),
      error: (event, fields = {}) => lines.say('error', event, fields),
    },
    // The audit row is typed and cleaned where it is made; no level can switch it off.
    writeAudit: rows.write,
    flush: () => {
      rows.flush();
      return lines.flush();
    },
  };
}
