// What an exchange is told when its process could not be had, and what its operator reads of it.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Claim } from '@lockkeeper/state/nodes/ownership';
import { faultOf } from './errors.ts';
import { StateLostError } from './lease/kept-state.ts';
import { BusyError } from './pool/contract.ts';
import { type FaultHead, type Log, StartError } from './raise/contract.ts';

export interface Failing {
  readonly xid: string;
  readonly spec: ServerSpec;
  /** It went upstream. */
  readonly running: boolean;
  readonly log: Log;
}

export function failureOf(error: unknown, { xid, spec, running, log }: Failing): FaultHead {
  const where = { xid, server: spec.name, tenant: spec.tenant };
  if (error instanceof StartError) {
    // The tail is the operator's alone: it may hold anything.
    log.warn({ ...where, why: error.words, stderr: error.stderrTail }, 'server could not be started');
    if (error.denied) return faultOf('denied', { message: `server "${spec.name}": ${error.words}` });
    const what = spec.http === undefined ? 'started' : 'reached';
    return faultOf('start-failed', { message: `server "${spec.name}" could not be ${what}: ${error.words}` });
  }
  if (error instanceof BusyError) {
    log.info({ ...where, ...error.queue }, 'busy');
    const { waiting, processes } = error.queue;
    const run = processes === 1 ? 'process runs' : 'processes run';
    const queue = `${waiting} ${waiting === 1 ? 'call waits' : 'calls wait'}, ${processes} ${run}`;
    const message = `server "${spec.name}" is busy: ${error.message}; ${queue}`;
    return faultOf('busy', { message, retryAfterMs: error.retryAfterMs });
  }
  if (error instanceof StateLostError) {
    log.info(where, 'the state of a session is gone, and its caller is told');
    return faultOf('lost', { message: error.message });
  }
  log.warn({ ...where, err: error }, 'exchange failed');
  return faultOf('internal', { mayHaveRun: running });
}

/** Null: this node may serve it, or nobody can say and it does no harm. */
export function notMine(claim: Claim, { isolation }: Pick<ServerSpec, 'isolation'>): FaultHead | null {
  if (claim.kind === 'moved') return faultOf('moved', { node: claim.node });
  // Only what lives in one process must not be served twice (design §4 "Who owns a pool key").
  return claim.kind === 'unreachable' && isolation === 'session' ? faultOf('unavailable') : null;
}
