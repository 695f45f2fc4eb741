// The second timer of a parked exchange (design §2, §4 "Deadlines"): a job, so that somebody acts when the node's own
// timer does not. Any node may run it. The node that holds the exchange is told to answer; where that node is no more,
// its record is marked as lost. At least once, and harmless when late.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Jobs } from '@lockkeeper/state/jobs';
import { keyOf, type Store } from '@lockkeeper/state/store';
import type { Log } from '../raise/contract.ts';
import type { Askable } from './contract.ts';
import { createDirectory } from './directory.ts';

export interface Place {
  readonly xid: string;
  readonly principal: Principal;
  readonly node: string;
  readonly incarnation: string;
  readonly deadline: number;
}

export interface Backup {
  watch(exchange: Askable, place: Place, deadlineMs: number): void;
  unwatch(exchange: Askable): void;
  close(): Promise<void>;
}

export interface BackupDeps {
  readonly jobs: Jobs;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: { readonly id: string; readonly incarnation: () => string };
  /** Whether a node lives in this life of its. */
  lives(node: string, incarnation: string): boolean;
  /** How long after the deadline the job comes: the node itself is first. */
  readonly behindMs?: number;
  readonly lostTtlMs?: number;
}

interface Payload {
  readonly tenant: string;
  readonly xid: string;
  readonly node: string;
  readonly incarnation: string;
}

const JOB = 'exchange-deadline';
const BEHIND_MS = 15_000;
const RETRY_MS = 10_000;
const CONCURRENCY = 4;
const LOST_TTL_MS = 120_000;

export interface StartedBackup extends Backup {
  start(): Promise<void>;
}

export function createBackup(deps: BackupDeps): StartedBackup {
  const { jobs, store, log, node } = deps;
  const directory = createDirectory(store, 0);
  const watched = new Map<string, Askable>();
  let unsubscribe: (() => Promise<void>) | null = null;
  let retry: Timer | null = null;
  let closed = false;

  const channelOf = (id: string): string => keyOf('', 'node', id, 'deadlines');
  const failed = (error: unknown) => log.warn({ err: error }, 'the backup of a deadline could not be kept');

  async function run(payload: unknown): Promise<void> {
    const { tenant, xid, node: id, incarnation } = payload as Payload;
    const record = await directory.get(tenant, xid);
    if (record === null || record.state === 'lost' || record.incarnation !== incarnation) return;
    if (deps.lives(id, incarnation)) await store.publish(channelOf(id), JSON.stringify({ xid, incarnation }));
    else await directory.lost(tenant, xid, deps.lostTtlMs ?? LOST_TTL_MS);
  }

  function told(message: string): void {
    const { xid, incarnation } = JSON.parse(message) as Pick<Payload, 'xid' | 'incarnation'>;
    if (incarnation === node.incarnation()) watched.get(xid)?.expired();
  }

  /** Never rejects: without the store the node's own timers do. */
  async function start(): Promise<void> {
    retry = null;
    try {
      unsubscribe ??= await store.subscribe(channelOf(node.id), told);
      await jobs.handle(JOB, CONCURRENCY, run);
    } catch (error) {
      failed(error);
      if (!closed) retry = deps.clock.setTimer(RETRY_MS, () => void start());
    }
  }

  return {
    start,
    watch(exchange, { xid, principal, node: id, incarnation }, deadlineMs) {
      watched.set(xid, exchange);
      const payload: Payload = { tenant: principal.tenant, xid, node: id, incarnation };
      jobs.schedule(JOB, xid, payload, deadlineMs + (deps.behindMs ?? BEHIND_MS)).catch(failed);
    },
    unwatch({ head }) {
      if (watched.delete(head.xid)) jobs.cancel(JOB, head.xid).catch(failed);
    },
    async close() {
      closed = true;
      retry?.clear();
      await unsubscribe?.().catch(failed);
      unsubscribe = null;
    },
  };
}
