// All pools of a node: made on demand, given room within the caps, swept, drained, closed (design §5). The host of every
// pool; the lives of their children are in lives.ts.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Clock } from '@lockkeeper/state/clock';
import type { Order, Whom } from '@lockkeeper/state/operator/contract';
import type { PoolLease } from '../lease/lease.ts';
import { StartError } from '../raise/contract.ts';
import { BusyError, type LeaseRequest, type NodePools, type PoolsDeps, type QueueState } from './contract.ts';
import { factsOf, type PoolFacts, sharedFacts } from './facts.ts';
import { Health } from './health/health.ts';
import { createJanitor } from './janitor.ts';
import { type End, endOf } from './life/ends.ts';
import { Leases } from './life/leases.ts';
import { Lives } from './life/lives.ts';
import { compareSiblings } from './life/siblings.ts';
import { Tally } from './life/tally.ts';
import type { Meter } from './meter/meter.ts';
import { createPoolMeter } from './meter/pool-meter.ts';
import { Operator } from './operate.ts';
import { Pool, type PoolHost } from './pool.ts';
import type { PooledChild } from './pooled-child.ts';
import { Registry } from './registry.ts';
import { Caps, type FullCap } from './room/caps.ts';
import { Finds } from './room/finds.ts';
import { Room } from './room/room.ts';
import { type PoolList, type PoolRow, type PoolStats, poolRows, poolStats } from './stats.ts';
import { sweepPool } from './sweep.ts';

export function createPools(deps: PoolsDeps): NodePools {
  return new AllPools(deps);
}

class AllPools implements NodePools, PoolHost {
  readonly clock: Clock;
  readonly health = new Health();
  readonly caps: Caps;
  readonly places: Finds;
  private readonly deps: PoolsDeps;
  private readonly registry = new Registry();
  private readonly tally = new Tally();
  private readonly room: Room;
  private readonly lives: Lives;
  private readonly operator: Operator;
  private readonly janitor;
  private readonly meter: Meter | null;
  private state: 'open' | 'draining' | 'closed' = 'open';
  private readonly leases: Leases;

  constructor(deps: PoolsDeps) {
    const { clock, connector, log } = deps;
    const { registry, health, tally } = this;
    this.deps = deps;
    this.clock = clock;
    this.caps = new Caps(() => deps.limits());
    this.places = new Finds({
      ...{ clock, caps: this.caps, maxQueue: () => this.maxQueue() },
      room: () => this.room,
    });
    this.leases = new Leases(registry, clock);
    this.lives = new Lives({
      ...{ connector, clock, log, registry, health, tally, caps: this.caps, name: deps.name ?? '' },
      adopted: ({ spec, facts }) => this.places.adopt(spec, facts.fingerprint),
      state: () => this.state,
      joined: (pool, child) => this.joined(pool, child),
      left: (pool, child) => {
        pool.serve();
        this.operator.left(pool, child);
        this.freed(pool);
        this.room.feed();
      },
    });
    this.room = new Room({
      ...{ registry, clock, caps: this.caps, seats: this.places.seats },
      evict: (pool, child) => this.lives.stop(pool, child, endOf('room')),
    });
    this.operator = new Operator({
      ...{ registry, lives: this.lives },
      mayStart: ({ spec, facts }) =>
        this.state === 'open' &&
        this.caps.full(spec) === null &&
        health.mayStartAnother(spec.digest) &&
        health.gate(spec.digest, facts.key, clock.now()) === null,
      start: (pool) => this.lives.start(pool),
    });
    this.janitor = createJanitor(clock, deps.sweepMs ?? 1_000, () => this.sweep());
    this.meter = createPoolMeter(deps, { registry, lives: this.lives });
  }

  lease(request: LeaseRequest): Promise<PoolLease> {
    if (request.signal.aborted) return Promise.reject(request.signal.reason as Error);
    if (this.state !== 'open') return Promise.reject(refusal('closing'));
    return this.pool(factsOf(request)).lease(request);
  }

  warm(spec: ServerSpec, owner?: string): void {
    if (spec.isolation !== 'shared' || spec.pool.minWarm === 0 || this.state !== 'open') return;
    this.pool(sharedFacts(spec, owner)).grow();
  }

  cool(owner: string): void {
    for (const pool of this.registry.family(owner)) {
      pool.cold = true;
      if (pool.empty) this.forget(pool);
    }
  }

  retire(digest: string, now?: 'now'): void {
    for (const pool of this.registry.ofDigest(digest)) {
      this.retirePool(pool);
      if (now !== undefined) this.dismissAll(pool, endOf('removed'));
    }
    this.health.forget(digest);
  }

  dropOwner(owner: string): void {
    const moved = endOf('moved');
    this.cool(owner);
    for (const pool of this.registry.family(owner)) {
      pool.refuseAll(refusal('not-ours'));
      this.dismissAll(pool, moved);
    }
    for (const pool of this.registry.every) {
      for (const child of pool.lentTo(owner)) this.lives.dismiss(pool, child, moved);
      for (const waiter of pool.waiters.all()) if (waiter.request.owner === owner) waiter.refuse(refusal('not-ours'));
    }
  }

  inUse(owner: string): boolean {
    if (this.registry.family(owner).length > 0) return true;
    for (const pool of this.registry.every) if (pool.lentTo(owner).length > 0) return true;
    return false;
  }

  stats(): PoolStats {
    const now = this.clock.now();
    return poolStats(this.registry.every, this.tally, this.health.openCircuits(now), now);
  }

  unusable(spec: ServerSpec, error: StartError): void {
    this.tally.started(spec);
    this.tally.startFailed(spec, error, this.clock.now());
  }

  list(): PoolList {
    const { servers } = this.stats();
    return { processes: this.rows(), servers, mishaps: this.tally.mishaps() };
  }

  order(order: Order, whom: Whom): string[] {
    return this.operator.order(order, whom);
  }

  rows(): PoolRow[] {
    return poolRows(this.registry.every, this.clock.now());
  }

  async drain(deadlineMs: number): Promise<void> {
    if (this.state === 'open') this.state = 'draining';
    this.janitor.close();
    for (const pool of [...this.registry.every]) {
      for (const child of [...pool.children]) {
        if (pool.waiters.size === 0 && child.state !== 'busy') this.lives.dismiss(pool, child, endOf('closing'));
      }
    }
    await this.leases.allBack(deadlineMs);
  }

  async close(graceMs: number): Promise<void> {
    this.state = 'closed';
    for (const pool of [...this.registry.every]) pool.refuseAll(refusal('closing'));
    await this.drain(graceMs);
    for (const pool of [...this.registry.every]) this.dismissAll(pool, endOf('closing'));
    this.meter?.close();
    this.room.close();
    await this.lives.settled();
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
    this.lives.start(pool);
  }

  stop(pool: Pool, child: PooledChild, end: End): void {
    this.lives.stop(pool, child, end);
  }

  adopts({ spec, facts }: Pool): boolean {
    return this.places.spareFor(spec, facts.fingerprint) !== undefined;
  }

  admits(pool: Pool): boolean {
    return this.room.admits(pool);
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
    if (pool.choose() !== undefined) this.room.offered();
    if (pool.empty) this.forget(pool);
    this.leases.givenBack();
  }

  // The rest is its own.

  private pool(facts: PoolFacts): Pool {
    const known = this.registry.get(facts.key);
    if (known !== undefined) {
      known.cold = false;
      return known;
    }
    const pool = new Pool(facts, this);
    this.registry.add(pool);
    return pool;
  }

  private forget(pool: Pool): void {
    pool.end();
    this.room.forget(pool);
    this.registry.delete(pool);
  }

  private joined(pool: Pool, child: PooledChild): void {
    const { spec } = pool;
    if (compareSiblings(child, this.registry.ofDigest(spec.digest))) {
      this.deps.connector.doubt?.(spec, 'its processes answer in different eras');
    }
    pool.serve();
    this.serveServer(spec.digest);
  }

  /** A start was settled for which other keys of the same server have waited. */
  private serveServer(digest: string): void {
    for (const pool of this.registry.ofDigest(digest)) if (pool.waiters.size > 0) pool.serve();
  }

  private retirePool(pool: Pool): void {
    const end = endOf('reconfigured');
    pool.retired = true;
    this.registry.retire(pool);
    pool.refuseAll(new StartError(end.words, ''));
    for (const child of [...pool.children]) {
      if (child.state === 'starting') this.lives.dismiss(pool, child, end);
      else pool.retireChild(child, end);
    }
    if (pool.empty) this.forget(pool);
  }

  private dismissAll(pool: Pool, end: End): void {
    for (const child of [...pool.children]) this.lives.dismiss(pool, child, end);
  }

  private sweep(): void {
    const now = this.clock.now();
    for (const pool of [...this.registry.every]) sweepPool(pool, this.deps.limits().sessionIdleMs, now);
    this.room.offered();
    this.health.prune(now);
  }
}

function refusal(why: QueueState['why']): BusyError {
  return new BusyError(1_000, { why, waiting: 0, processes: 0 });
}
