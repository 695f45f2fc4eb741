// The children of one pool key and those who wait for one (design §5). It decides who gets which child and when a child
// is of no more use; starting, caps and siblings are its host's.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { PoolLease } from '../lease/lease.ts';
import { personOf } from '../lease/person.ts';
import { Turns } from '../lease/turns.ts';
import { Waiter } from '../lease/waiter.ts';
import { type Connection, StartError } from '../raise/contract.ts';
import { BusyError, type LeaseRequest, type QueueState } from './contract.ts';
import type { PoolFacts } from './facts.ts';
import type { Gate } from './health/crash-history.ts';
import type { Health } from './health/health.ts';
import { type End, endOf } from './life/ends.ts';
import type { PooledChild } from './pooled-child.ts';
import type { Caps, FullCap } from './room/caps.ts';
import { type PoolCounts, SPREAD_LEASES, startsWanted } from './size.ts';

export interface PoolHost {
  readonly clock: Clock;
  readonly health: Health;
  readonly caps: Caps;
  maxQueue(): number;
  /** New calls are taken. */
  accepting(): boolean;
  /** Nothing is started any more. */
  closed(): boolean;
  start(pool: Pool): void;
  stop(pool: Pool, child: PooledChild, end: End): void;
  /** Its next start takes over a process that there is. */
  adopts(pool: Pool): boolean;
  /** Nobody stands in line before it for the room that there is. */
  admits(pool: Pool): boolean;
  /** A start was wanted and a cap stood against it. */
  hungry(pool: Pool, cap: FullCap): void;
  /** A child of the same owner with a smaller fingerprint that can take this call. */
  smaller(pool: Pool, request: LeaseRequest): { readonly pool: Pool; readonly child: PooledChild } | null;
  /** Somebody was given back or left: others may have waited for it, or nothing may be left here. */
  freed(pool: Pool): void;
}

/** Up to here a caller waits for the end of a back-off; beyond, he is told at once. */
const PATIENT_MS = 2_000;
const RETRY_AFTER_MS = 1_000;

export class Pool {
  readonly facts: PoolFacts;
  readonly children = new Set<PooledChild>();
  readonly waiters = new Turns<Waiter>();
  readonly finds = false;
  retired = false;
  /** Another node has the key, or is to have it: nothing is started for nobody. */
  cold = false;
  private readonly host: PoolHost;
  private retry: Timer | null = null;

  constructor(facts: PoolFacts, host: PoolHost) {
    this.facts = facts;
    this.host = host;
  }

  get spec(): ServerSpec {
    return this.facts.spec;
  }

  /** Spares for persons and sessions would stay for everyone who ever came (GB-016). */
  get minWarm(): number {
    const { isolation, pool } = this.spec;
    if (this.cold) return 0;
    return isolation === 'shared' || this.facts.mode === 'once' ? pool.minWarm : 0;
  }

  get max(): number {
    // Its state lives in one process (design §5 table).
    return this.spec.isolation === 'session' ? 1 : this.spec.pool.max;
  }

  /** Where a process has many calls of many persons at once, its own queue knows no turns, so nobody may fill it. */
  private get fair(): boolean {
    return this.facts.mode === 'many' && this.spec.isolation === 'shared';
  }

  get got(): number {
    return this.children.size;
  }

  get wants(): boolean {
    return this.waiters.size > 0;
  }

  get empty(): boolean {
    return this.children.size === 0 && this.waiters.size === 0 && (this.retired || this.minWarm === 0);
  }

  lease(request: LeaseRequest): Promise<PoolLease> {
    const asked = request.back === undefined ? undefined : this.childOf(request.back);
    if (asked !== undefined) return Promise.resolve(this.grant(asked, request.owner));
    // Whoever waits there has as much of every process as one person may have.
    const person = this.fair ? personOf(request.principal) : undefined;
    const child = this.waiters.size === 0 || this.fair ? this.choose(person) : undefined;
    if (child !== undefined) return Promise.resolve(this.grant(child, request.owner, person));
    if (this.waiters.size >= this.host.maxQueue() && !this.queueFor(personOf(request.principal))) {
      return Promise.reject(this.queueFull());
    }
    const waiter = new Waiter(request, this.host.clock, {
      expired: (w) => this.expired(w),
      left: (w) => {
        this.waiters.delete(personOf(w.request.principal), w);
        this.host.freed(this);
      },
    });
    this.waiters.add(personOf(request.principal), waiter);
    this.serve();
    return waiter.promise;
  }

  /** A queue that one person has filled is not full for another (design §5 "fair queueing"). */
  private queueFor(person: string): boolean {
    const last = this.waiters.newestOfMost(person);
    last?.refuse(this.queueFull());
    return last !== undefined;
  }

  private queueFull(): BusyError {
    return this.busy('queue-full', 2 * RETRY_AFTER_MS);
  }

  /** Grants what can be granted, starts what is wanted. */
  serve(): void {
    if (this.fair) this.serveInTurn();
    else this.serveNext();
    this.grow();
  }

  private serveNext(): void {
    for (let next = this.waiters.peek(); next !== undefined; next = this.waiters.peek()) {
      const child = this.choose();
      if (child === undefined) break;
      this.waiters.take();
      next.grant(this.grant(child, next.request.owner));
    }
  }

  /** One call of each who may have one, again and again. */
  private serveInTurn(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [person, waiter] of this.waiters.heads()) {
        const child = this.choose(person);
        if (child === undefined) continue;
        this.waiters.served(person, waiter);
        waiter.grant(this.grant(child, waiter.request.owner, person));
        served = true;
      }
    }
  }

  grow(): void {
    if (this.retired || this.host.closed()) return;
    const { health, caps, clock } = this.host;
    const { digest } = this.spec;
    if (this.crowded) this.letGoOfAwaited();
    for (let wanted = startsWanted(this.counts()); wanted > 0; wanted--) {
      const gate = health.gate(digest, this.facts.key, clock.now());
      if (gate !== null) {
        this.gated(gate);
        return;
      }
      if (!health.mayStartAnother(digest)) return;
      // It has its place already.
      const adopts = this.host.adopts(this);
      const cap = adopts ? null : caps.full(this.spec);
      if (cap !== null) {
        // Nobody is put out for a spare.
        if (this.waiters.size > 0 && !this.letGoOfAwaited()) this.host.hungry(this, cap);
        return;
      }
      if (!adopts && !this.host.admits(this)) return;
      this.host.start(this);
    }
  }

  /** A child that can take one more call now: with the fewest calls, else the one used last, so that others fall idle. */
  choose(person?: string): PooledChild | undefined {
    let best: PooledChild | undefined;
    for (const child of this.children) {
      const takes = person === undefined ? child.takes : child.takesOf(person);
      if (!takes || (this.facts.mode === 'once' && (child.state !== 'idle' || this.awaits(child)))) continue;
      const fewer = best === undefined ? -1 : child.holders.leases - best.holders.leases;
      if (best === undefined || fewer < 0 || (fewer === 0 && child.idleSince > best.idleSince)) best = child;
    }
    return best;
  }

  grant(child: PooledChild, owner: string, person?: string): PoolLease {
    if (this.facts.mode === 'once') child.awaitedUntil = 0;
    const lease = child.grant(owner, (tainted) => this.freed(child, tainted), person);
    lease.expect = (ms) => {
      child.awaitedUntil = Math.max(child.awaitedUntil, this.host.clock.now() + ms);
    };
    if (this.facts.mode === 'many' && child.holders.leases >= SPREAD_LEASES) this.grow();
    return lease;
  }

  /** Somebody whom it asked may be back. */
  awaits(child: PooledChild): boolean {
    return child.state === 'idle' && child.awaitedUntil > this.host.clock.now();
  }

  /** Only for the call that was there before: nobody else's is let into a process that is kept for one. */
  private childOf(connection: Connection): PooledChild | undefined {
    for (const child of this.children) {
      if (child.connection !== connection) continue;
      const free = child.state === 'idle' || this.facts.mode === 'many';
      return child.live && !connection.gone && free ? child : undefined;
    }
    return undefined;
  }

  /** Full, and some of it is kept for callers who may never come back. */
  private get crowded(): boolean {
    const { starting, idle, busy, draining, max, waiting, mode } = this.counts();
    return mode === 'once' && waiting > starting + draining && starting + idle + busy + draining >= max;
  }

  private letGoOfAwaited(): boolean {
    if (this.facts.mode !== 'once') return false;
    let oldest: PooledChild | undefined;
    for (const child of this.children) {
      if (this.awaits(child) && (oldest === undefined || child.idleSince < oldest.idleSince)) oldest = child;
    }
    if (oldest !== undefined) this.retireChild(oldest, endOf('room'));
    return oldest !== undefined;
  }

  /** No new work for it; it ends when it is free, which may be now. */
  retireChild(child: PooledChild, end: End): void {
    child.retiring ??= end;
    child.holders.leave();
    if (child.live && child.holders.leases === 0) this.host.stop(this, child, child.retiring);
  }

  /** `exclusive` children are nobody's but while they are lent. */
  lentTo(owner: string): PooledChild[] {
    if (this.facts.mode !== 'once') return [];
    return [...this.children].filter((child) => child.state === 'busy' && child.owner === owner);
  }

  /** Everybody who waits here and could only be served by a start that will not come. */
  refuseAll(reason: Error): void {
    for (const waiter of this.waiters.all()) waiter.refuse(reason);
  }

  /** Nothing here serves or is about to. */
  get barren(): boolean {
    return ![...this.children].some((child) => child.live || child.state === 'starting');
  }

  end(): void {
    this.retry?.clear();
    this.retry = null;
  }

  counts(): PoolCounts {
    const states = { starting: 0, idle: 0, busy: 0, draining: 0 };
    let leastLeases = Number.POSITIVE_INFINITY;
    for (const child of this.children) {
      if (child.state === 'dead') continue;
      // Retiring ones serve nobody new, so the rest must not count on them.
      const kept = this.facts.mode === 'once' && this.awaits(child) ? 'busy' : child.state;
      states[child.live && child.retiring !== null ? 'draining' : kept]++;
      if (child.live && child.retiring === null) leastLeases = Math.min(leastLeases, child.holders.leases);
    }
    return {
      ...states,
      mode: this.facts.mode,
      max: this.max,
      minWarm: this.minWarm,
      waiting: this.waiters.size,
      leastLeases,
      proven: this.host.health.isProven(this.spec.digest),
    };
  }

  private freed(child: PooledChild, tainted: boolean): void {
    if (!child.live) return;
    if (child.baton) child.holders.passBaton();
    if (child.holders.leases === 0) {
      const end = child.retiring ?? this.ofNoMoreUse(child, tainted);
      child.state = 'idle';
      child.idleSince = this.host.clock.now();
      if (end !== null) this.retireChild(child, end);
    }
    if (this.waiters.size > 0 || this.minWarm > 0) this.serve();
    this.host.freed(this);
  }

  private ofNoMoreUse(child: PooledChild, tainted: boolean): End | null {
    const { isolation, keepsNothing, pool } = this.spec;
    if (this.retired) return endOf('reconfigured');
    if (!this.host.accepting() && this.waiters.size === 0) return endOf('closing');
    if (!tainted && !child.tainted && child.awaitedUntil > this.host.clock.now()) return null;
    // Never lent again unless the operator says that nothing stays, and then only clean ones (design §5 table).
    if (this.facts.mode === 'once' && !(keepsNothing && !tainted && !child.tainted)) return endOf('one-call');
    if (isolation === 'user' && tainted) return endOf('tainted');
    if (isolation !== 'session' && child.grants >= pool.maxUses) return endOf('uses');
    return null;
  }

  /**
   * Only who would be refused else: told less than its caller can do, a server may fail where the right process would
   * have asked (design §5 "Fingerprint").
   */
  private serveFromSmaller(waiters: readonly Waiter[]): boolean {
    for (const waiter of waiters) {
      const found = this.host.smaller(this, waiter.request);
      // The same for all of them: they have one fingerprint.
      if (found === null) return false;
      waiter.grant(found.pool.grant(found.child, waiter.request.owner));
    }
    return true;
  }

  private gated(gate: Gate): void {
    if (this.waiters.size === 0) return;
    const { clock, health } = this.host;
    const rest = gate.untilMs - clock.now();
    if (this.barren && rest > PATIENT_MS) {
      this.serveFromSmaller(this.waiters.all());
      this.refuseAll(new StartError(gate.words, health.lastTail(this.spec.digest, this.facts.key), gate.denied));
      return;
    }
    this.retry ??= clock.setTimer(rest, () => {
      this.retry = null;
      this.serve();
    });
  }

  private expired(waiter: Waiter): number | Error | null {
    const { clock, health, caps } = this.host;
    const { digest, startTimeoutMs } = this.spec;
    const waited = clock.now() - waiter.since;
    const starting = this.counts().starting > 0 || (this.barren && health.isStarting(digest));
    // The start has a budget of its own, apart from the queue's (GB-026).
    if (starting && waited < startTimeoutMs) return startTimeoutMs - waited;
    if (this.serveFromSmaller([waiter])) return null;
    if (starting) return new StartError(`it has not finished starting after ${Math.round(waited / 1000)} s`, '');
    const gate = this.barren ? health.gate(digest, this.facts.key, clock.now()) : null;
    if (gate !== null) return new StartError(gate.words, health.lastTail(digest, this.facts.key), gate.denied);
    const full = this.counts().busy + this.counts().draining >= this.max;
    return this.busy(full ? 'pool-full' : (caps.full(this.spec) ?? 'pool-full'), RETRY_AFTER_MS);
  }

  private busy(why: QueueState['why'], retryAfterMs: number): BusyError {
    return new BusyError(retryAfterMs, { why, waiting: this.waiters.size, processes: this.children.size });
  }
}
