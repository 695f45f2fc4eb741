// All pools of a node: made on demand, given room within the caps, swept, drained, closed (design §5). The host of every
// pool; it owns the starts, the stops and the order in which the hungry are fed.

import type { Limits, ServerSpec } from '@lockkeeper/protocol/config/settings';
import { ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Clock } from '@lockkeeper/state/clock';
import type { PoolLease } from '../lease/lease.ts';
import { type Connection, type Connector, type Log, StartError } from '../raise/contract.ts';

import { BusyError, type LeaseRequest, type Pools, type QueueState } from './contract.ts';
import { Health } from './health/health.ts';
import { createJanitor } from './janitor.ts';
import { Pool, type PoolFacts, type PoolHost } from './pool.ts';
import { PooledChild } from './pooled-child.ts';
import { Registry } from './registry.ts';
import { Caps, type FullCap } from './room/caps.ts';
import { Room } from './room/room.ts';
import { stopsWanted } from './size.ts';
import { type StartHandle, startChild } from './starter.ts';
import { type Counters, type PoolRow, type PoolStats, poolRows, poolStats } from './stats.ts';

export interface PoolsDeps {
  readonly connector: Pick<Connector, 'connect'>;
  readonly clock: Clock;
  readonly log: Log;
  limits(): Pick<Limits, 'maxPerServer' | 'maxPerTenant' | 'maxPerNode' | 'maxQueue' | 'sessionIdleMs'>;
  readonly sweepMs?: number;
}

export interface NodePools extends Pools {
  lease(request: LeaseRequest): Promise<PoolLease>;
  /** Starts `pool.minWarm` processes of a `shared` server before anyone comes. */
  warm(spec: ServerSpec): void;
  /** The owner key was lost to another node: its children end now, and their calls with them (design §4). */
  dropOwner(owner: string): void;
  /** Whether anything lives or waits for an owner key. */
  inUse(owner: string): boolean;
  stats(): PoolStats;
  /** Every process. */
  rows(): PoolRow[];
  /** Nothing new is taken, what waits and runs goes on. Resolves when all leases are back, or at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

export function createPools(deps: PoolsDeps): NodePools {
  return new AllPools(deps);
}

class AllPools implements NodePools, PoolHost {
  readonly clock: Clock;
  readonly health = new Health();
  readonly caps: Caps;
  private readonly deps: PoolsDeps;
  private readonly registry = new Registry();
  private readonly room: Room;
  private readonly starts = new Map<PooledChild, StartHandle>();
  private readonly endings = new Set<Promise<void>>();
  private readonly counters: Counters = { starts: 0, startFailures: 0, crashes: 0, evictions: 0 };
  private readonly janitor;
  private state: 'open' | 'draining' | 'closed' = 'open';
  private quiet: (() => void) | null = null;

  constructor(deps: PoolsDeps) {
    this.deps = deps;
    this.clock = deps.clock;
    this.caps = new Caps(() => deps.limits());
    this.room = new Room({
      registry: this.registry,
      caps: this.caps,
      evict: (pool, child) => {
        this.counters.evictions++;
        this.stop(pool, child, 'another server needed its place');
      },
    });
    this.janitor = createJanitor(deps.clock, deps.sweepMs ?? 1_000, () => this.sweep());
  }

  lease(request: LeaseRequest): Promise<PoolLease> {
    if (request.signal.aborted) return Promise.reject(request.signal.reason as Error);
    if (this.state !== 'open') return Promise.reject(refusal('closing'));
    return this.pool(factsOf(request)).lease(request);
  }

  warm(spec: ServerSpec): void {
    if (spec.isolation !== 'shared' || spec.pool.minWarm === 0 || this.state !== 'open') return;
    const principal = { tenant: spec.tenant, issuer: '', subject: '', client: null };
    const owner = ownerKey({
      server: spec.name,
      digest: spec.digest,
      isolation: 'shared',
      principal,
      session: null,
      mayAsk: false,
    });
    const key = poolKey(owner, '');
    this.pool({ key, family: owner, spec, capabilities: {}, fingerprint: '', mode: 'many' }).grow();
  }

  retire(digest: string, now?: 'now'): void {
    for (const pool of this.registry.ofDigest(digest)) {
      this.retirePool(pool);
      if (now !== undefined) for (const child of [...pool.children]) this.dismiss(pool, child, REMOVED);
    }
    this.health.forget(digest);
  }

  dropOwner(owner: string): void {
    const why = 'another node serves this caller now';
    for (const pool of this.registry.family(owner)) {
      pool.refuseAll(refusal('not-ours'));
      for (const child of [...pool.children]) this.dismiss(pool, child, why);
    }
    for (const pool of this.registry.every) {
      for (const child of pool.children) {
        if (pool.facts.mode === 'once' && child.state === 'busy' && child.owner === owner)
          this.dismiss(pool, child, why);
      }
      for (const waiter of pool.waiters.all()) if (waiter.request.owner === owner) waiter.refuse(refusal('not-ours'));
    }
  }

  inUse(owner: string): boolean {
    if (this.registry.family(owner).length > 0) return true;
    for (const pool of this.registry.every) {
      if (pool.facts.mode !== 'once') continue;
      for (const child of pool.children) if (child.state === 'busy' && child.owner === owner) return true;
    }
    return false;
  }

  stats(): PoolStats {
    const now = this.clock.now();
    return poolStats(this.registry.every, this.counters, this.health.openCircuits(now), now);
  }

  rows(): PoolRow[] {
    return poolRows(this.registry.every, this.clock.now());
  }

  async drain(deadlineMs: number): Promise<void> {
    if (this.state === 'open') this.state = 'draining';
    this.janitor.close();
    for (const pool of [...this.registry.every]) {
      for (const child of [...pool.children]) {
        if (pool.waiters.size === 0 && child.state !== 'busy') this.dismiss(pool, child, CLOSING);
      }
    }
    await this.leasesBack(deadlineMs);
  }

  async close(graceMs: number): Promise<void> {
    this.state = 'closed';
    for (const pool of [...this.registry.every]) pool.refuseAll(refusal('closing'));
    await this.drain(graceMs);
    for (const pool of [...this.registry.every])
      for (const child of [...pool.children]) this.dismiss(pool, child, CLOSING);
    while (this.endings.size > 0) await Promise.all(this.endings);
    for (const pool of [...this.registry.every]) this.forget(pool);
  }

  // What a pool asks of its host.

  maxQueue(): number {
    return this.deps.limits().maxQueue;
  }

  closed(): boolean {
    return this.state === 'closed';
  }

  accepting(): boolean {
    return this.state === 'open';
  }

  start(pool: Pool): void {
    const { spec, capabilities, mode } = pool.facts;
    const child = new PooledChild(spec, capabilities, mode === 'baton', this.clock.now());
    pool.children.add(child);
    this.caps.add(spec);
    this.health.starting(spec.digest);
    this.counters.starts++;
    const handle = startChild(pool, child, this.deps, {
      ready: (connection) => this.ready(pool, child, connection),
      failed: (error) => this.failed(pool, child, error),
      abandoned: () => {
        this.health.startAbandoned(spec.digest);
        this.gone(pool, child, CLOSING);
      },
    });
    this.starts.set(child, handle);
    this.track(handle.done);
  }

  stop(pool: Pool, child: PooledChild, why: string): void {
    const connection = child.connection;
    if (connection === null || child.state === 'draining') return;
    child.state = 'draining';
    this.track(
      connection
        .stop(why)
        .catch((error: unknown) =>
          this.deps.log.warn({ server: pool.spec.name, err: error }, 'a child could not be stopped'),
        )
        .then(() => this.gone(pool, child, why)),
    );
  }

  hungry(pool: Pool, cap: FullCap): void {
    this.room.missing(pool, cap);
  }

  smaller(pool: Pool, request: LeaseRequest): { pool: Pool; child: PooledChild } | null {
    for (const sibling of this.registry.family(pool.facts.family)) {
      if (sibling === pool || sibling.retired || sibling.spec.digest !== pool.spec.digest) continue;
      if (!covers(request.capabilities, sibling.facts.capabilities)) continue;
      const child = sibling.choose();
      // A used `exclusive` process is lent again only to an equal fingerprint (design §5 table).
      if (child !== undefined && (sibling.facts.mode !== 'once' || child.grants === 0)) return { pool: sibling, child };
    }
    return null;
  }

  freed(pool: Pool): void {
    for (const sibling of this.registry.family(pool.facts.family)) {
      if (sibling !== pool && sibling.waiters.size > 0) sibling.serve();
    }
    if (pool.empty) this.forget(pool);
    if (this.quiet !== null && this.leases() === 0) this.quiet();
  }

  // The rest is its own.

  private pool(facts: PoolFacts): Pool {
    const known = this.registry.get(facts.key);
    if (known !== undefined) return known;
    const pool = new Pool(facts, this);
    this.registry.add(pool);
    return pool;
  }

  private forget(pool: Pool): void {
    pool.end();
    this.room.forget(pool);
    this.registry.delete(pool);
  }

  private ready(pool: Pool, child: PooledChild, connection: Connection): void {
    this.starts.delete(child);
    this.health.started(pool.spec.digest);
    child.connection = connection;
    child.state = 'idle';
    child.idleSince = this.clock.now();
    void connection.closed.then((reason) => this.ended(pool, child, reason.words));
    if (pool.retired || this.state === 'closed') this.stop(pool, child, pool.retired ? RECONFIGURED : CLOSING);
    pool.serve();
    this.serveServer(pool.spec.digest);
    if (this.state === 'draining' && child.state === 'idle') this.stop(pool, child, CLOSING);
  }

  private failed(pool: Pool, child: PooledChild, error: StartError): void {
    const { name, tenant, digest } = pool.spec;
    this.counters.startFailures++;
    this.deps.log.warn(
      { server: name, tenant, why: error.words, stderr: error.stderrTail },
      'server could not be started',
    );
    this.health.startFailed(digest, pool.facts.key, error.words, error.stderrTail, this.clock.now());
    child.state = 'dead';
    // All who waited for this server to start at all have their answer.
    for (const one of this.registry.ofDigest(digest)) if (one.barren) one.refuseAll(error);
    this.gone(pool, child, error.words);
    this.serveServer(digest);
  }

  /** It ended, and not because we wanted it to. */
  private ended(pool: Pool, child: PooledChild, words: string): void {
    if (!child.live) return;
    this.counters.crashes++;
    const { name, tenant } = pool.spec;
    this.deps.log.warn({ server: name, tenant, why: words, leases: child.holders.leases }, 'a child ended by itself');
    const now = this.clock.now();
    // Its calls hear of it first, and give it back.
    const inCall = child.holders.leases > 0 || (child.grants > 0 && now - child.idleSince <= JUST_NOW_MS);
    const during = inCall ? 'call' : 'idle';
    this.health.crashed(pool.facts.key, words, '', now - child.startedAt, now, during);
    this.gone(pool, child, words);
  }

  private gone(pool: Pool, child: PooledChild, why: string): void {
    this.starts.delete(child);
    if (!pool.children.delete(child)) return;
    child.state = 'dead';
    this.caps.remove(child.spec);
    child.holders.end(new Error(`the server's process has ended: ${why}`));
    pool.serve();
    this.freed(pool);
    this.room.feed();
  }

  /** A start was settled for which other keys of the same server have waited. */
  private serveServer(digest: string): void {
    for (const pool of this.registry.ofDigest(digest)) if (pool.waiters.size > 0) pool.serve();
  }

  private retirePool(pool: Pool): void {
    pool.retired = true;
    this.registry.retire(pool);
    pool.refuseAll(new StartError(RECONFIGURED, ''));
    for (const child of [...pool.children]) {
      if (child.state === 'starting') this.starts.get(child)?.abandon(RECONFIGURED);
      else pool.retireChild(child, RECONFIGURED);
    }
    if (pool.empty) this.forget(pool);
  }

  /** Now, whatever runs on it. */
  private dismiss(pool: Pool, child: PooledChild, why: string): void {
    if (child.state === 'starting') this.starts.get(child)?.abandon(why);
    else if (child.live) this.stop(pool, child, why);
  }

  private sweep(): void {
    const now = this.clock.now();
    for (const pool of [...this.registry.every]) {
      const { isolation, pool: settings } = pool.spec;
      // A session's state must last as long as the session may be idle.
      const idleMs =
        isolation === 'session' ? Math.max(settings.idleMs, this.deps.limits().sessionIdleMs) : settings.idleMs;
      const rules = { ...settings, isolation, minWarm: pool.minWarm, idleMs };
      const children = [...pool.children].filter((child) => child.live && child.retiring === null).map(asView);
      for (const [{ child }, why] of stopsWanted(children, rules, now)) pool.retireChild(child, why);
      pool.grow();
    }
    this.health.prune(now);
  }

  private leases(): number {
    let sum = 0;
    for (const pool of this.registry.every) for (const child of pool.children) sum += child.holders.leases;
    return sum;
  }

  private async leasesBack(deadlineMs: number): Promise<void> {
    if (this.leases() === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.quiet = resolve;
    const timer = this.clock.setTimer(deadlineMs, resolve);
    await promise;
    timer.clear();
    this.quiet = null;
  }

  private track(work: Promise<void>): void {
    const done = work.finally(() => this.endings.delete(done));
    this.endings.add(done);
  }
}

const JUST_NOW_MS = 250;
const CLOSING = 'the node is closing';
const REMOVED = 'the server was taken out of the configuration';
const RECONFIGURED = 'its configuration has changed';

function refusal(why: QueueState['why']): BusyError {
  return new BusyError(1_000, { why, waiting: 0, processes: 0 });
}

/** `exclusive` processes are nobody's before their one call, so their spares serve the whole tenant. */
function factsOf(request: LeaseRequest): PoolFacts {
  const { spec, capabilities, fingerprint, owner, key, alone } = request;
  if (spec.isolation !== 'exclusive') {
    return { key, family: owner, spec, capabilities, fingerprint, mode: alone ? 'baton' : 'many' };
  }
  const family = JSON.stringify(['exclusive', spec.tenant, spec.name, spec.digest]);
  return { key: poolKey(family, fingerprint), family, spec, capabilities, fingerprint, mode: 'once' };
}

function asView(child: PooledChild) {
  const { idleSince, startedAt, grants, tainted } = child;
  return { child, state: child.state as 'idle' | 'busy', idleSince, startedAt, grants, tainted };
}
