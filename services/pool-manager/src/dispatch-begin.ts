// How an exchange comes to its server (design §2, §5): the era first, then a process, waited for within its time, then what
// its session kept there, then its call. Where it ends meanwhile, nothing is kept and nothing is called.

import { mayAsk } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ExchangeDeps } from './dispatch-contract.ts';
import { type Asking, leaseRequest } from './dispatch-lease.ts';
import type { ExchangeTime } from './dispatch-time.ts';
import { telling } from './dispatch-waiting.ts';
import type { Askable } from './parked/contract.ts';
import type { ReturnTo } from './parked/returns.ts';
import type { Lease } from './pool/contract.ts';

export interface Beginning extends Asking, Askable {
  readonly body: Uint8Array;
  readonly owner: string;
  readonly back: ReturnTo | undefined;
  readonly deps: ExchangeDeps;
  readonly time: ExchangeTime;
  readonly done: boolean;
  /** From now on the lease is the exchange's to give back. */
  lent(lease: Lease): void;
  call(head: Open, body: Uint8Array): void;
  event(method: string, members: Uint8Array): void;
}

export async function begin(exchange: Beginning): Promise<void> {
  const { deps, spec, head, time } = exchange;
  time.starts();
  // A little less than our own deadline, so that "busy" is said rather than "not started".
  const waitMs = () => Math.max(0, Math.min(deps.queueMs(), time.leftToStartMs - 20));
  const known = deps.connector.known(spec);
  const profile = known ?? (await waited(exchange, deps.connector.profile(spec, exchange.signal, waitMs())));
  if (exchange.done) return;
  const request = leaseRequest(exchange, profile, {
    ...{ owner: exchange.owner, waitMs: waitMs(), back: exchange.back?.connection },
    asks: deps.parked !== undefined,
  });
  const lease = await waited(exchange, deps.pools.lease(request));
  if (exchange.done) {
    lease.release();
    return;
  }
  exchange.lent(lease);
  if (spec.isolation === 'session') {
    await deps.keptState?.admit(exchange, request.fingerprint, lease.connection);
    if (exchange.done) return;
  }
  time.called();
  exchange.call(head, exchange.body);
  // Also where the process was told of nothing: a question that it asks all the same says what this caller lacks.
  const legacy = profile.era === 'legacy' && mayAsk(spec);
  if (!exchange.done && legacy) deps.parked?.attach(lease.connection, exchange);
}

function waited<T>(exchange: Beginning, work: Promise<T>): Promise<T> {
  if (!exchange.head.progress) return work;
  const { clock, tellMs } = exchange.deps;
  return telling(work, clock, tellMs, (method, members) => exchange.event(method, members));
}
