// The life of each child: started once and counted, let into its pool only when it has introduced itself, ended in one
// way whoever wants it, and gone from every book when it is no more (GB-017, GB-020).

import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason } from '../../child/contract.ts';
import type { Connection, Connector, Log, StartError } from '../../raise/contract.ts';
import type { Health } from '../health/health.ts';
import type { Pool } from '../pool.ts';
import { PooledChild } from '../pooled-child.ts';
import type { Registry } from '../registry.ts';
import type { Caps } from '../room/caps.ts';
import { type End, endOf } from './ends.ts';
import { type StartHandle, startChild } from './starter.ts';
import type { Tally } from './tally.ts';

export interface LivesDeps {
  readonly connector: Pick<Connector, 'connect'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: Registry;
  readonly health: Health;
  readonly caps: Caps;
  readonly tally: Tally;
  /** Of the node: with it no name is used twice, also after a restart. */
  readonly name: string;
  /** A process that the start takes over was counted already. */
  adopted(pool: Pool): boolean;
  state(): 'open' | 'draining' | 'closed';
  /** It can take calls. */
  joined(pool: Pool, child: PooledChild): void;
  /** It is in no pool any more, and there is room for another. */
  left(pool: Pool, child: PooledChild): void;
}

/** Its calls hear of a crash first, and give their leases back. */
const JUST_NOW_MS = 250;

export class Lives {
  private readonly deps: LivesDeps;
  private readonly starts = new Map<PooledChild, StartHandle>();
  private readonly endings = new Set<Promise<void>>();
  private count = 0;

  constructor(deps: LivesDeps) {
    this.deps = deps;
  }

  start(pool: Pool): void {
    const { clock, caps, health, tally, name } = this.deps;
    const { spec, capabilities, mode } = pool.facts;
    const child = new PooledChild(`${name}${++this.count}`, spec, capabilities, mode === 'baton', clock.now());
    pool.children.add(child);
    if (!this.deps.adopted(pool)) caps.add(spec);
    health.starting(spec.digest);
    tally.started(spec);
    const handle = startChild(pool, child, this.deps, {
      ready: (connection) => this.ready(pool, child, connection),
      failed: (error) => this.failed(pool, child, error),
      abandoned: () => {
        health.startAbandoned(spec.digest);
        this.gone(pool, child, 'it was given up');
      },
    });
    this.starts.set(child, handle);
    this.track(handle.done);
  }

  /** It takes nothing new, and what runs on it is lost. */
  stop(pool: Pool, child: PooledChild, end: End, how?: 'now'): void {
    const { connection } = child;
    if (connection === null || child.state === 'draining') return;
    child.state = 'draining';
    child.retiring ??= end;
    this.deps.tally.ended(pool.spec, end.reason);
    this.track(
      connection
        .stop(end.words, how)
        .catch((error: unknown) =>
          this.deps.log.warn({ server: pool.spec.name, err: error }, 'a child could not be stopped'),
        )
        .then(() => this.gone(pool, child, end.words)),
    );
  }

  /** Now, whatever runs on it, also while it starts. */
  dismiss(pool: Pool, child: PooledChild, end: End): void {
    if (child.state === 'starting') this.starts.get(child)?.abandon(end.words);
    else if (child.live) this.stop(pool, child, end);
  }

  /** It has itself to blame, as if it had crashed: no goodbye, and its next start waits. */
  punish(pool: Pool, child: PooledChild, end: End): void {
    const { clock, log, tally } = this.deps;
    const { name, tenant } = pool.spec;
    const now = clock.now();
    log.warn({ server: name, tenant, why: end.words, leases: child.holders.leases }, 'a child was ended');
    tally.note(pool.spec, 'memory', end.words, now);
    this.holdAgainst(pool, child, end.words, now, child.holders.leases > 0);
    this.stop(pool, child, end, 'now');
  }

  /** Resolves when all are gone that were told to. */
  async settled(): Promise<void> {
    while (this.endings.size > 0) await Promise.all(this.endings);
  }

  private ready(pool: Pool, child: PooledChild, connection: Connection): void {
    const { clock, health, state, joined } = this.deps;
    this.starts.delete(child);
    health.started(pool.spec.digest);
    child.connection = connection;
    child.state = 'idle';
    child.idleSince = clock.now();
    void connection.closed.then((reason) => this.ended(pool, child, reason));
    if (pool.retired) this.stop(pool, child, endOf('reconfigured'));
    else if (state() === 'closed') this.stop(pool, child, endOf('closing'));
    joined(pool, child);
    if (state() === 'draining' && child.state === 'idle') this.stop(pool, child, endOf('closing'));
  }

  private failed(pool: Pool, child: PooledChild, error: StartError): void {
    const { registry, health, clock, log, tally } = this.deps;
    const { name, tenant, digest } = pool.spec;
    tally.startFailed(pool.spec, error, clock.now());
    log.warn({ server: name, tenant, why: error.words, stderr: error.stderrTail }, 'server could not be started');
    health.startFailed(digest, pool.facts.key, error.words, error.stderrTail, clock.now(), error.denied);
    child.state = 'dead';
    // All who waited for this server to start at all have their answer.
    for (const one of registry.ofDigest(digest)) if (one.barren) one.refuseAll(error);
    this.gone(pool, child, error.words);
    for (const one of registry.ofDigest(digest)) if (one.waiters.size > 0) one.serve();
  }

  /** It ended, and not because we wanted it to. */
  private ended(pool: Pool, child: PooledChild, { kind, words, cause }: ExitReason): void {
    if (!child.live) return;
    const { clock, log, tally } = this.deps;
    const { name, tenant } = pool.spec;
    if (kind === 'session-ended') {
      // Its server is there; sessions expire, and the next call begins another (protocol.md §4.4).
      log.info({ server: name, tenant, why: words, leases: child.holders.leases }, 'a remote session has ended');
      this.gone(pool, child, words);
      return;
    }
    const now = clock.now();
    tally.crashed(pool.spec, cause ?? 'exit', words, now);
    log.warn({ server: name, tenant, why: words, leases: child.holders.leases }, 'a child ended by itself');
    const inCall = child.holders.leases > 0 || (child.grants > 0 && now - child.idleSince <= JUST_NOW_MS);
    this.holdAgainst(pool, child, words, now, inCall);
    this.gone(pool, child, words);
  }

  /**
   * The next start of its key waits. Not after the one call of an `exclusive` process: its pool is the whole tenant's, and
   * a crash in a call concerns whoever caused it.
   */
  private holdAgainst(pool: Pool, child: PooledChild, words: string, now: number, inCall: boolean): void {
    const { key, mode } = pool.facts;
    if (mode === 'once' && inCall) return;
    this.deps.health.crashed(key, words, '', now - child.startedAt, now, inCall ? 'call' : 'idle');
  }

  private gone(pool: Pool, child: PooledChild, why: string): void {
    this.starts.delete(child);
    if (!pool.children.delete(child)) return;
    child.state = 'dead';
    this.deps.caps.remove(child.spec);
    child.holders.end(new Error(`the server's process has ended: ${why}`));
    this.deps.left(pool, child);
  }

  private track(work: Promise<void>): void {
    const done = work.finally(() => this.endings.delete(done));
    this.endings.add(done);
  }
}
