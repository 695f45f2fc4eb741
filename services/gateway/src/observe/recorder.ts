// Begins and ends the record of one exchange: audit row, metrics and span, written together, once (design §9). Both
// legs use it, one pair per JSON-RPC request (a batch has several under one xid). Ending twice is ignored.

import type { TraceContext } from '@lockkeeper/protocol/link/frames';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Attribution, Authenticated } from '../exchange.ts';
import { type AuditRow, auditName } from './audit.ts';
import { type Metrics, methodLabel } from './metrics.ts';
import type { Tracing } from './trace.ts';

export interface About {
  readonly era: Era;
  readonly revision: string | null;
  readonly method: string;
  readonly name?: string | undefined;
  readonly bytesIn: number;
  /** Already merged from headers and `_meta` (observe/trace.ts). */
  readonly trace: TraceContext;
}

export interface Ending extends Told {
  /** `ok`, `tool-error`, `vanished` or a refusal's reason. */
  readonly outcome: string;
  readonly status: number | null;
  readonly bytesOut: number;
}

/** An `Answer` is one. */
type Told = { readonly [M in keyof Attribution]?: Attribution[M] | undefined };

export interface Recording {
  /** To be passed on in `Exchange.trace`. */
  readonly trace: TraceContext;
  end(ending: Ending): void;
}

/** A request that was refused before it became an exchange of one era. */
export interface Turned {
  readonly xid: string;
  readonly tenant: string;
  readonly route: string;
  readonly ticket?: Authenticated;
  readonly outcome: string;
  readonly detail?: string;
  readonly status: number;
  /** Of its body, as far as it was read; absent: nothing of it was. */
  readonly bytesIn?: number;
  readonly arrivedAt: number;
}

export interface Recorder {
  begin(ticket: Authenticated, about: About): Recording;
  turnedAway(turned: Turned): void;
}

export interface RecorderDeps {
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly writeAudit: (row: AuditRow) => void;
  /** Monotonic ms, as in `Authenticated.arrivedAt`. */
  readonly elapsed: () => number;
}

export function createRecorder(deps: RecorderDeps): Recorder {
  return {
    begin: (ticket, about) => begin(deps, ticket, about),
    turnedAway: (turned) => turnedAway(deps, turned),
  };
}

/** Endings that are nobody's failure. */
const UNHARMED: ReadonlySet<string> = new Set(['ok', 'input-required', 'vanished']);

function begin(deps: RecorderDeps, ticket: Authenticated, about: About): Recording {
  const { metrics, tracing, writeAudit, elapsed } = deps;
  metrics.exchangeBegan();
  const span = tracing.begin(about.trace, `mcp ${methodLabel(about.method)}`, {
    'lockkeeper.exchange': ticket.xid,
    'lockkeeper.route': ticket.route.path,
    'lockkeeper.tenant': ticket.route.tenant,
  });
  let open = true;
  return {
    trace: span.trace,
    end(ending) {
      if (!open) return;
      open = false;
      const ms = elapsed() - ticket.arrivedAt;
      span.end(ending.outcome, !UNHARMED.has(ending.outcome));
      metrics.exchangeEnded(about.era, ticket.route.tenant, about.method, ending.outcome, ms / 1000);
      writeAudit(rowOf(ticket, about, ending, ms));
    },
  };
}

function rowOf(ticket: Authenticated, about: About, ending: Ending, ms: number): AuditRow {
  const { principal } = ticket.caller;
  const { route } = ticket;
  return {
    xid: ticket.xid,
    tenant: principal.tenant,
    route: route.path,
    issuer: principal.issuer,
    subject: auditName(principal.subject),
    client: auditName(principal.client),
    era: about.era,
    revision: auditName(about.revision),
    method: auditName(about.method),
    server: ending.server ?? (route.aggregate ? null : (route.servers[0] ?? null)),
    name: auditName(about.name),
    rule: ending.rule ?? null,
    continues: ending.continues ?? null,
    outcome: ending.outcome,
    detail: ending.detail ?? null,
    status: ending.status,
    bytesIn: about.bytesIn,
    bytesOut: ending.bytesOut,
    ms: Math.round(ms * 1000) / 1000,
  };
}

function turnedAway({ writeAudit, elapsed }: RecorderDeps, turned: Turned): void {
  const principal = turned.ticket?.caller.principal;
  writeAudit({
    xid: turned.xid,
    tenant: turned.tenant,
    route: turned.route,
    issuer: principal?.issuer ?? null,
    subject: auditName(principal?.subject),
    client: auditName(principal?.client),
    era: null,
    revision: null,
    method: null,
    server: null,
    name: null,
    rule: null,
    continues: null,
    outcome: turned.outcome,
    detail: turned.detail ?? null,
    status: turned.status,
    bytesIn: turned.bytesIn ?? 0,
    bytesOut: 0,
    ms: Math.round((elapsed() - turned.arrivedAt) * 1000) / 1000,
  });
}
