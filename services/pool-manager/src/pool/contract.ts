// Between the dispatcher and the pools (design §5). The dispatcher says who wants which kind of process; the pools
// start, lend, take back and end them. Nothing here knows MCP beyond the fingerprint.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Connection } from '../raise/contract.ts';

export interface LeaseRequest {
  readonly spec: ServerSpec;
  /** `ownerKey` of protocol/link/keys.ts. */
  readonly owner: string;
  /** `poolKey(owner, fingerprint)`. */
  readonly key: string;
  /** For fair queueing between tenants, and so that a tainted process is never lent to another person or client. */
  readonly principal: Principal;
  /** The projection a fresh process is initialised with; `fingerprint` is its text ('' for modern upstreams). */
  readonly capabilities: ClientCapabilities;
  readonly fingerprint: string;
  /** The process that it would be back at. Any other will do when it is gone, or busy where only one may run. */
  readonly back?: Connection;
  /** The caller must be alone on the connection: `exclusive`, or a legacy process that may be asked (the baton). */
  readonly alone: boolean;
  /** Longest wait in the queue, ms (limits.queueMs or the call's time left, whichever is less). */
  readonly waitMs: number;
  /** Aborted when the caller leaves. A start that others share goes on. */
  readonly signal: AbortSignal;
}

export interface Lease {
  readonly connection: Connection;
  /** The call waits for its caller: others may run (design §5 "Baton"). Nothing where calls run side by side. */
  park?(): void;
  /** Runs again. Rejects with the abort reason, or when the child has ended. */
  resume?(signal: AbortSignal): Promise<void>;
  /** Its caller has been asked and may be back within this time: the process is kept for him if nobody needs its place. */
  expect?(ms: number): void;
  /**
   * Gives the right to run back; idempotent. The pool itself decides whether the process lives on: it reads the
   * connection's taint, and `tainted` here says that this very call gave no sign of having ended (design §5 "Taint").
   */
  release(outcome?: { readonly tainted: boolean }): void;
}

export interface Pools {
  /** Rejects with `StartError` (could not be started), `BusyError` (queue full or its deadline), or the abort reason. */
  lease(request: LeaseRequest): Promise<Lease>;
  /**
   * Ends every process of a digest that is no longer configured, once its last lease is given back; `now`: whatever runs
   * on it, since its server was taken away as a whole (design §5 "Reload").
   */
  retire(digest: string, now?: 'now'): void;
  /** Ends all processes; leases under way are lost after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** What a refusal knows of the queue, for the log. */
export interface QueueState {
  readonly why: 'queue-full' | 'pool-full' | 'server-full' | 'tenant-full' | 'node-full' | 'closing' | 'not-ours';
  /** Calls that wait for the same pool key. */
  readonly waiting: number;
  /** Processes of that key. */
  readonly processes: number;
}

const BUSY_WORDS: Readonly<Record<QueueState['why'], string>> = {
  'queue-full': 'too many calls wait for this server',
  'pool-full': 'all processes of this server are busy',
  'server-full': 'this server has as many processes as one node may run of it (limits.maxPerServer)',
  'tenant-full': 'the tenant has as many processes as it may have on one node (limits.maxPerTenant)',
  'node-full': 'the node runs as many processes as it may (limits.maxPerNode)',
  closing: 'the node is closing',
  'not-ours': 'another node serves this caller',
};

/** No process was free within the queue's bounds. */
export class BusyError extends Error {
  readonly retryAfterMs: number;
  readonly queue: QueueState;
  constructor(retryAfterMs: number, queue: QueueState = { why: 'pool-full', waiting: 0, processes: 0 }) {
    super(BUSY_WORDS[queue.why]);
    this.retryAfterMs = retryAfterMs;
    this.queue = queue;
  }
}
