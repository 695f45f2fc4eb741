// Audit rows as text. There is one for each exchange, so what they repeat is made once, and those of one turn of the
// event loop are handed over together.

import type { LineSink } from '@lockkeeper/state/log/lines';
import type { AuditRow } from './audit.ts';

/** pino's number. */
const INFO = 30;
/** Names, routes and outcomes come again and again. Their JSON texts are kept up to so many. */
const MAX_KEPT = 4096;
const MAX_KEPT_LENGTH = 256;

export interface AuditLines {
  write(row: AuditRow): void;
  /** Hands over what waits for the end of the turn. */
  flush(): void;
}

/** The form is that of the other lines; `service` names the process. */
export function createAuditLines(stream: LineSink, service: string): AuditLines {
  const name = JSON.stringify(service);
  /** What the rows of one millisecond begin with. */
  let opening = '';
  let at = Number.NaN;
  let waiting = '';
  function flush(): void {
    const text = waiting;
    waiting = '';
    if (text !== '') stream.write(text);
  }
  return {
    write(row) {
      const now = Date.now();
      if (now !== at) {
        at = now;
        opening = `{"level":${INFO},"time":"${new Date(now).toISOString()}","service":${name},"kind":"audit",`;
      }
      if (waiting === '') setImmediate(flush);
      waiting += `${opening}${membersOf(row)}}\n`;
    },
    flush,
  };
}

/** A new member of a row must find its place below before this compiles again. */
const WRITTEN: { readonly [M in keyof Required<AuditRow>]: true } = {
  xid: true,
  tenant: true,
  route: true,
  issuer: true,
  subject: true,
  client: true,
  era: true,
  revision: true,
  method: true,
  server: true,
  name: true,
  rule: true,
  continues: true,
  outcome: true,
  detail: true,
  status: true,
  bytesIn: true,
  bytesOut: true,
  ms: true,
};
void WRITTEN;

function membersOf(row: AuditRow): string {
  const { xid, continues, status, bytesIn, bytesOut, ms } = row;
  return (
    `"xid":${JSON.stringify(xid)},"tenant":${quoted(row.tenant)},"route":${quoted(row.route)},` +
    `"issuer":${quoted(row.issuer)},"subject":${quoted(row.subject)},"client":${quoted(row.client)},` +
    `"era":${quoted(row.era)},"revision":${quoted(row.revision)},"method":${quoted(row.method)},` +
    `"server":${quoted(row.server)},"name":${quoted(row.name)},"rule":${quoted(row.rule)},` +
    `"continues":${continues === null ? 'null' : JSON.stringify(continues)},"outcome":${quoted(row.outcome)},` +
    `"detail":${quoted(row.detail)},"status":${status},"bytesIn":${bytesIn},"bytesOut":${bytesOut},"ms":${ms}`
  );
}

const kept = new Map<string, string>();

function quoted(text: string | null): string {
  if (text === null) return 'null';
  const known = kept.get(text);
  if (known !== undefined) return known;
  const made = JSON.stringify(text);
  if (made.length > MAX_KEPT_LENGTH) return made;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, made);
  return made;
}
