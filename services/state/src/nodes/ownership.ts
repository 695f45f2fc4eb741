// Which owner keys this node may serve (design §4). A key held and fresh costs no look at the store. All leases are
// renewed by one loop. After a stall nothing is claimed until the leases have been read again; keys that were lost are
// reported, so that their children die, and the node goes on under a new incarnation.

import type { Clock, Timer } from '../clock.ts';
import type { Store } from '../store.ts';
import { createAbsence } from './absence.ts';
import { LEASE_MS, type Lease, leaseKey, leaseValue, parseHolder, renewLease } from './lease.ts';
import type { NodeRecord } from './record.ts';
import type { StallWatch } from './stall-watch.ts';

export type Claim =
  | { readonly kind: 'held' }
  | { readonly kind: 'moved'; readonly node: string }
  | { readonly kind: 'unreachable' };

export interface OwnerKey {
  readonly tenant: string;
  readonly owner: string;
}

export interface OwnershipDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly nodeId: string;
  /** A lease of a node's former life is void, and that of one which is gone: the list of nodes tells. */
  readonly nodes: { live(): readonly NodeRecord[] };
  readonly stall: StallWatch;
  /** This node's own: while it may be missing, others may take what is held here. Absent: nobody looks for it. */
  readonly entry?: OwnEntry;
  readonly token: () => string;
  /** Synchronously, before any further claim: kill what runs for these keys. */
  readonly lost: (keys: readonly OwnerKey[]) => void;
  /** The node's name for its life has changed: register it, tell the gateways. */
  readonly reborn: (incarnation: string) => void;
  readonly warn: (words: string) => void;
  /** Keys unclaimed for `idleMs` are released unless this says that they are in use. */
  readonly inUse?: (key: OwnerKey) => boolean;
  readonly leaseMs?: number;
  readonly idleMs?: number;
  readonly maxKeys?: number;
}

export interface OwnEntry {
  safeUntil(): number;
  safeSince(): number;
  renew(): Promise<void>;
}

export interface HeldKeys {
  claim(tenant: string, owner: string): Promise<Claim>;
  release(tenant: string, owner: string): Promise<void>;
  /** The node drains: every key may be taken by another, what runs here goes on. Nothing is claimed any more. */
  handOver(): Promise<void>;
  readonly incarnation: string;
  readonly size: number;
  /** Releases everything; claims afterwards are `unreachable`. Idempotent. */
  close(): Promise<void>;
}

const HELD: Promise<Claim> = Promise.resolve({ kind: 'held' });
/** Of a key for which nothing runs: taking it again costs one round trip, holding it a renewal every few seconds. */
const IDLE_MS = 60_000;
const MAX_KEYS = 100_000;
const TOGETHER = 64;
const MAX_TRIES = 3;
/** A store that did not answer is asked again for a claim after this long. */
const RETRY_MS = 1_000;

export function createOwnership(deps: OwnershipDeps): HeldKeys {
  const { store, clock, stall, entry } = deps;
  const absence = createAbsence(deps);
  const leaseMs = deps.leaseMs ?? LEASE_MS;
  const held = new Map<string, Lease>();
  const claiming = new Map<string, Promise<Claim>>();
  let incarnation = deps.token();
  let rechecking: Promise<void> | null = null;
  let closed = false;
  let handedOver = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer = clock.setTimer(leaseMs / 3, round);

  async function inBatches(leases: readonly Lease[], work: (lease: Lease) => Promise<void>): Promise<void> {
    for (let i = 0; i < leases.length; i += TOGETHER) await Promise.all(leases.slice(i, i + TOGETHER).map(work));
  }

  function seen(lease: Lease, asked: number): void {
    lease.seenAt = asked;
    lease.safeUntil = asked + leaseMs;
  }

  /** Renews all; what somebody else has is lost. A store that does not answer loses nothing. */
  async function renewAll(): Promise<void> {
    const gone: Lease[] = [];
    let unanswered = 0;
    await inBatches([...held.values()], async (lease) => {
      const asked = clock.now();
      try {
        if (await renewLease(store, lease, leaseMs)) seen(lease, asked);
        else gone.push(lease);
      } catch {
        unanswered += 1;
      }
    });
    if (unanswered > 0) {
      failedAt = clock.now();
      deps.warn(`${unanswered} leases could not be renewed`);
    }
    const lost = gone.filter((lease) => held.get(lease.owner) === lease);
    if (lost.length > 0) await rebirth(lost);
  }

  /** The rest of the leases get the new name before anybody hears of it: a lease of a former life may be taken. */
  async function rebirth(gone: readonly Lease[]): Promise<void> {
    incarnation = deps.token();
    lose(gone);
    const alsoGone: Lease[] = [];
    await inBatches([...held.values()], async (lease) => {
      const value = leaseValue({ node: deps.nodeId, incarnation }, deps.token());
      const asked = clock.now();
      const renamed = await store.compareAndSet(lease.key, lease.value, value, leaseMs).catch(() => false);
      if (!renamed) alsoGone.push(lease);
      else {
        lease.value = value;
        seen(lease, asked);
      }
    });
    lose(alsoGone.filter((lease) => held.get(lease.owner) === lease));
    deps.reborn(incarnation);
  }

  function lose(leases: readonly Lease[]): void {
    for (const lease of leases) held.delete(lease.owner);
    if (leases.length > 0) deps.lost(leases.map(({ tenant, owner }) => ({ tenant, owner })));
  }

  function releaseIdle(): void {
    const before = clock.now() - (deps.idleMs ?? IDLE_MS);
    for (const lease of held.values()) {
      if (lease.usedAt > before || deps.inUse?.(lease) === true) continue;
      release(lease.tenant, lease.owner).catch(() => deps.warn('an idle lease was not released'));
    }
  }

  function recheck(): Promise<void> {
    rechecking ??= renewAll().finally(() => {
      rechecking = null;
    });
    return rechecking;
  }

  function round(): void {
    releaseIdle();
    recheck()
      .catch((error: unknown) => deps.warn(`leases were not renewed: ${String(error)}`))
      .finally(() => {
        if (!closed) timer = clock.setTimer(leaseMs / 3, round);
      });
  }

  const noMoreStalls = stall.onStall((ms) => {
    deps.warn(`the process stood still for ${ms} ms; leases are read again`);
    for (const lease of held.values()) lease.safeUntil = 0;
    recheck().catch((error: unknown) => deps.warn(`leases were not read: ${String(error)}`));
  });

  async function take(tenant: string, owner: string): Promise<Claim> {
    if (held.size >= (deps.maxKeys ?? MAX_KEYS)) throw new Error('this node holds too many keys');
    const key = leaseKey(tenant, owner);
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const asked = clock.now();
      const life = incarnation;
      const value = leaseValue({ node: deps.nodeId, incarnation: life }, deps.token());
      if (!(await store.setIfAbsent(key, value, leaseMs))) {
        const standing = await store.get(key);
        if (standing === null) continue;
        const holder = parseHolder(standing);
        const other = holder !== null && holder.node !== deps.nodeId && !(await absence.isGone(holder));
        if (other) return { kind: 'moved', node: holder.node };
        if (!(await store.compareAndSet(key, standing, value, leaseMs))) continue;
      }
      if (life === incarnation && !closed && !handedOver) {
        held.set(owner, { tenant, owner, key, value, safeUntil: asked + leaseMs, seenAt: asked, usedAt: asked });
        return HELD;
      }
      // Taken under a name that is no longer ours: others may take it from us, so it must not be served.
      await store.compareAndDelete(key, value);
    }
    return { kind: 'unreachable' };
  }

  async function slowly(tenant: string, owner: string): Promise<Claim> {
    try {
      if (rechecking !== null) await rechecking;
      if (entry !== undefined && clock.now() >= entry.safeUntil()) {
        if (clock.now() - failedAt < RETRY_MS) return { kind: 'unreachable' };
        await renewEntry(entry);
      }
      if (held.has(owner)) {
        if (fresh(owner)) return HELD;
        if (clock.now() - failedAt < RETRY_MS) return { kind: 'unreachable' };
        await recheck();
        if (held.has(owner)) return fresh(owner) ? HELD : { kind: 'unreachable' };
      }
      return await take(tenant, owner);
    } catch (error) {
      deps.warn(`a lease could not be read or taken: ${String(error)}`);
      return { kind: 'unreachable' };
    }
  }

  async function renewEntry(own: OwnEntry): Promise<void> {
    await own.renew();
    if (clock.now() < own.safeUntil()) return;
    failedAt = clock.now();
    throw new Error('this node could not be registered');
  }

  function fresh(owner: string): boolean {
    const lease = held.get(owner);
    return lease !== undefined && isFresh(lease, clock.now());
  }

  /** It was seen to be ours since the last time that others may have taken us for gone. */
  function isFresh(lease: Lease, now: number): boolean {
    if (now >= lease.safeUntil) return false;
    return entry === undefined || (now < entry.safeUntil() && lease.seenAt >= entry.safeSince());
  }

  function claim(tenant: string, owner: string): Promise<Claim> {
    stall.check();
    const lease = held.get(owner);
    if (lease !== undefined) {
      const now = clock.now();
      lease.usedAt = now;
      if (isFresh(lease, now)) return HELD;
    }
    if (closed || handedOver) return Promise.resolve({ kind: 'unreachable' });
    let flight = claiming.get(owner);
    if (flight === undefined) {
      flight = slowly(tenant, owner).finally(() => claiming.delete(owner));
      claiming.set(owner, flight);
    }
    return flight;
  }

  async function release(_tenant: string, owner: string): Promise<void> {
    const lease = held.get(owner);
    if (lease === undefined) return;
    held.delete(owner);
    try {
      await store.compareAndDelete(lease.key, lease.value);
    } catch {
      deps.warn('a lease was not released; it ends by itself');
    }
  }

  async function releaseAll(): Promise<void> {
    await Promise.allSettled(claiming.values());
    await inBatches([...held.values()], ({ tenant, owner }) => release(tenant, owner));
  }

  return {
    claim,
    release,
    async handOver() {
      handedOver = true;
      await releaseAll();
    },
    get incarnation() {
      return incarnation;
    },
    get size() {
      return held.size;
    },
    close: async () => {
      if (closed) return;
      closed = true;
      timer.clear();
      noMoreStalls();
      await releaseAll();
    },
  };
}
