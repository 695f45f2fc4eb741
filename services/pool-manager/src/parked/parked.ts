// All parked exchanges of one node: their router, their caps, their traces in the store, their ends. One per node; it
// decides nothing of a single exchange.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Connection, Log } from '../raise/contract.ts';
import type { Settled } from './asked.ts';
import type { Backup } from './backup.ts';
import { createParkedCaps } from './caps.ts';
import type { Askable, Parked, ParkedAudit } from './contract.ts';
import { createDirectory } from './directory.ts';
import { createOutcomes } from './outcomes.ts';
import { createRouter } from './router.ts';
import { readState } from './state-text.ts';

export interface ParkedLimits {
  readonly humanMs: number;
  readonly maxParkedPerPrincipal: number;
  readonly maxParkedPerServer: number;
}

export interface ParkedDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Unguessable text of at least 96 bits. */
  readonly random: () => string;
  limits(): ParkedLimits;
  readonly node: { readonly id: string; readonly incarnation: () => string };
  /** Answers in this node's place when its timer fails, or the node is gone. */
  readonly backup?: Backup;
  readonly onAudit?: (event: ParkedAudit) => void;
  readonly timings?: Partial<ParkedTimings>;
}

export interface ParkedTimings {
  /** Questions that come within this time are shown together (protocol.md §5.5 step 2). */
  readonly windowMs: number;
  readonly pacingMs: number;
  readonly earlyMs: number;
  readonly earlyWindowMs: number;
}

export const PARKED_TIMINGS: ParkedTimings = { windowMs: 30, pacingMs: 20_000, earlyMs: 5_000, earlyWindowMs: 250 };

/** A seal lives a little longer than the deadline, so that a retry just behind it hears how it ended. */
const GRACE_MS = 90_000;
/** What the store keeps of an end is for a node that has forgotten; the node's own memory is bounded by its sum. */
const MAX_STORED_BYTES = 1024 * 1024;
const MAX_OUTCOME_BYTES = 16 * 1024 * 1024;
const MAX_OUTCOMES_BYTES = 64 * 1024 * 1024;
const MAX_OUTCOMES = 20_000;
const NO_ROOTS: Settled = { kind: 'error', code: -32603, message: 'No roots are available' };

export function createParked(deps: ParkedDeps): Parked {
  const { clock, log, node } = deps;
  const timings = { ...PARKED_TIMINGS, ...deps.timings };
  const directory = createDirectory(deps.store, MAX_STORED_BYTES);
  const outcomes = createOutcomes(clock, MAX_OUTCOMES_BYTES, MAX_OUTCOME_BYTES, MAX_OUTCOMES);
  const caps = createParkedCaps(() => {
    const { maxParkedPerPrincipal, maxParkedPerServer } = deps.limits();
    return { perPrincipal: maxParkedPerPrincipal, perServer: maxParkedPerServer };
  });
  const specs = new WeakMap<Connection, ServerSpec>();
  const router = createRouter({
    clock,
    earlyMs: timings.earlyMs,
    earlyWindowMs: timings.earlyWindowMs,
    staticRoots: (connection) => rootsOf(specs.get(connection)),
  });
  /** Those whose place the store was told of. */
  const placed = new Set<Askable>();
  const writes = new Map<string, Promise<void>>();
  const ttlMs = () => deps.limits().humanMs + GRACE_MS;

  /** In order per exchange; nothing waits for it, and a store that is away costs nothing but these traces. */
  function behind(xid: string, what: string, work: () => Promise<void>): void {
    const before = writes.get(xid) ?? Promise.resolve();
    const done = before
      .then(work)
      .catch((error: unknown) => log.warn({ xid, err: error }, `parked exchange: ${what} could not be stored`))
      .finally(() => {
        if (writes.get(xid) === done) writes.delete(xid);
      });
    writes.set(xid, done);
  }

  function audit(event: ParkedAudit): void {
    log.warn({ audit: event.what, xid: event.xid, tenant: event.principal.tenant }, 'parked exchange');
    deps.onAudit?.(event);
  }

  return {
    questions: router.questions,
    parking: {
      clock,
      random: deps.random,
      humanMs: () => deps.limits().humanMs,
      windowMs: timings.windowMs,
      pacingMs: timings.pacingMs,
    },
    attach(connection, exchange) {
      specs.set(connection, exchange.spec);
      router.attach(connection, exchange);
    },
    detach: router.detach,
    admit: (exchange) => caps.enter(exchange),
    awaiting(exchange, deadlineMs) {
      const { head, spec, principal, session } = exchange;
      placed.add(exchange);
      const deadline = clock.now() + deadlineMs;
      const record = {
        ...{ principal, session, server: spec.name, deadline, state: 'parked' as const },
        node: node.id,
        incarnation: node.incarnation(),
      };
      behind(head.xid, 'its place', () => directory.put(head.xid, record, ttlMs()));
      deps.backup?.watch(exchange, { ...record, xid: head.xid }, deadlineMs);
    },
    ended(exchange, ended) {
      caps.leave(exchange);
      const { head, principal, session } = exchange;
      if (ended !== null) outcomes.put(head.xid, { principal, session }, ended, ttlMs());
      if (!placed.delete(exchange)) return;
      behind(head.xid, 'its end', () => directory.ended(head.xid, { principal, session }, ended, ttlMs()));
      deps.backup?.unwatch(exchange);
    },
    outcome(head) {
      const own = outcomes.get(head.xid, head);
      if (own === 'foreign') return foreign(head);
      const state = head.state === undefined ? null : readState(head.state);
      // Nothing is stored of what was never asked.
      if (own !== null || state?.kind !== 'held' || state.xid !== head.xid) return own;
      return directory.outcome(head.xid, head).then(
        (stored) => (stored === 'foreign' ? foreign(head) : stored),
        () => null,
      );
    },
    audit,
    get size() {
      return placed.size;
    },
    async close() {
      router.close();
      await Promise.all(writes.values());
      await deps.backup?.close();
    },
  };

  function foreign(head: Open): null {
    audit({ what: 'foreign-state', xid: head.xid, principal: head.principal });
    return null;
  }
}

function rootsOf(spec: ServerSpec | undefined): Settled {
  if (spec?.roots === undefined) return NO_ROOTS;
  return { kind: 'result', value: Buffer.from(JSON.stringify({ roots: spec.roots })) };
}
