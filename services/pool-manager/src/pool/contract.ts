// Between the dispatcher and the pools (design §5). The dispatcher says who wants which kind of process; the pools
// start, lend, take back and end them. Below: what all pools of a node are given, and what they are for the rest of it.

import type { Limits, ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Clock } from '@lockkeeper/state/clock';
import type { Order, Whom } from '@lockkeeper/state/operator/contract';
import type { PoolLease } from '../lease/lease.ts';
import type { Connection, Connector, Log, StartError } from '../raise/contract.ts';
import type { Places } from '../raise/place.ts';
import type { Unlent, UsageReader } from './meter/contract.ts';
import type { PoolList, PoolRow, PoolStats } from './stats.ts';

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
  /**
   * For who only keeps the process and runs nothing: told once, when it takes no new work and should end. Else it would
   * wait for him, and he for its successor.
   */
  keep?(leave: () => void): void;
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

export interface PoolsDeps {
  readonly connector: Pick<Connector, 'connect' | 'doubt'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Before the numbers of its processes. */
  readonly name?: string;
  limits(): Pick<Limits, 'maxPerServer' | 'maxPerTenant' | 'maxPerNode' | 'maxQueue' | 'sessionIdleMs'>;
  readonly sweepMs?: number;
  /** What children use of the machine. Absent: nobody looks. */
  readonly usage?: UsageReader;
  /** All of the node, also what is in no pool. */
  readonly running?: () => Iterable<Unlent>;
  readonly meterMs?: number;
}

export interface NodePools extends Pools {
  /** For processes that are in no pool. */
  readonly places: Places;
  lease(request: LeaseRequest): Promise<PoolLease>;
  /** Starts `pool.minWarm` processes of a `shared` server before anyone comes. `owner`: not the server's own key. */
  warm(spec: ServerSpec, owner?: string): void;
  /** No process is kept for nobody's use under this key; what is used goes on. */
  cool(owner: string): void;
  /** The owner key was lost to another node: its children end now, and their calls with them (design §4). */
  dropOwner(owner: string): void;
  /** Whether anything lives or waits for an owner key. */
  inUse(owner: string): boolean;
  stats(): PoolStats;
  /** Every process. */
  rows(): PoolRow[];
  /** It could not even be asked what it is: counted and told to the operator as a start that failed. */
  unusable(spec: ServerSpec, error: StartError): void;
  /** For the operator. */
  list(): PoolList;
  /** Gives the names of those it was done to. */
  order(order: Order, whom: Whom): string[];
  /** Nothing new is taken, what waits and runs goes on. Resolves when all leases are back, or at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}
