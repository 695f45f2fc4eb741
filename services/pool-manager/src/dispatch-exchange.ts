// One exchange on its way through this node: claim, profile, lease, call, answer (design §2, §4). It is settled exactly
// once, whatever happens, and gives its lease back whatever happens. Nothing is run twice but safe methods, once, when
// their process died under them.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open, Principal } from '@lockkeeper/protocol/link/frames';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { Flow } from './dispatch-flow.ts';
import { leaseRequest, ownerOf } from './dispatch-lease.ts';
import { faultOf } from './errors.ts';
import type { OpenStream, Ownership, StreamReply, TaskedUpstream } from './link/contract.ts';
import { BusyError, type Lease, type Pools } from './pool/contract.ts';
import {
  type Connector,
  type FaultHead,
  type Log,
  type ResultHead,
  StartError,
  type UpstreamCall,
  type UpstreamReply,
} from './raise/contract.ts';
import type { Adopted } from './tasks/tasks.ts';

export interface ExchangeDeps {
  readonly connector: Pick<Connector, 'known' | 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Parked exchanges are there to take what upstreams ask. */
  readonly asks: boolean;
  readonly queueMs: () => number;
  readonly maxQueuedBytes: number;
  readonly slowMs: number;
  /** On top of the start time-out: the probe of a server not seen before. */
  readonly probeMs: number;
  /** Progress keeps a call alive, but not for ever (26/cancel "maximum timeout"). */
  readonly maxCallMs: number;
  settled(exchange: DispatchedExchange, how: string, ms: number): void;
  /** A modern server made a task of the call: its process is kept by whoever keeps tasks (design §5 "Obligations"). */
  adopt?(head: Open, result: ResultHead, members: Uint8Array, lease: Lease): Adopted;
}

export class DispatchedExchange implements OpenStream, UpstreamReply {
  readonly head: Open;
  readonly spec: ServerSpec;
  private readonly deps: ExchangeDeps;
  private readonly body: Uint8Array;
  private readonly reply: StreamReply;
  private readonly openedAt: number;
  private flow: Flow | null = null;
  private leaving: AbortController | null = null;
  private calledAt = 0;
  private progressedAt: number | null = null;
  private timer: Timer | null = null;
  private firesAt = 0;
  private lease: Lease | null = null;
  private upstream: UpstreamCall | null = null;
  private prolongedTo = 0;
  private done = false;
  private running = false;
  private tries = 0;

  constructor(deps: ExchangeDeps, spec: ServerSpec, head: Open, body: Uint8Array, reply: StreamReply) {
    this.deps = deps;
    this.spec = spec;
    this.head = head;
    this.body = body;
    this.reply = reply;
    this.openedAt = deps.clock.now();
  }

  get principal(): Principal {
    return this.head.principal;
  }

  get session(): string | null {
    return this.head.session;
  }

  /** Aborted when the exchange ends before it was lent a process. Most never need it. */
  get signal(): AbortSignal {
    this.leaving ??= new AbortController();
    if (this.done) this.leaving.abort(new Error('the exchange has ended'));
    return this.leaving.signal;
  }

  /** Never rejects. */
  async run(): Promise<void> {
    try {
      const owner = ownerOf(this.spec, this.head);
      const claim = await this.deps.ownership.claim(this.spec.tenant, owner);
      if (this.mine(claim)) await this.begin(owner);
    } catch (error) {
      this.failed(error);
    }
  }

  cancel(reason: string): void {
    this.end('cancelled', reason);
  }

  /** The client left, or the link broke: round 0 ends with it, unless the caller is to be kept (design §4 #6). */
  vanished(how: 'close' | 'break'): void {
    if (this.head.onVanish === 'cancel') this.cancel(how === 'close' ? 'the client left' : 'the link broke');
  }

  /** The node ends under it (design §5 "Drain"). */
  lose(words: string): void {
    this.end('lost', words);
  }

  started(): void {
    this.running = true;
    this.reply.started();
  }

  event(method: string, members: Uint8Array): void {
    if (this.done) return;
    this.flow ??= this.newFlow();
    if (!this.flow.event(method, members)) this.end('too-slow', 'the client reads too slowly');
  }

  progressed(): void {
    this.progressedAt = this.deps.clock.now();
  }

  result(head: ResultHead, members: Uint8Array): void {
    if (!this.finish('result')) return;
    this.flow?.flush();
    const { lease, deps } = this;
    const adopted =
      head.resultType === 'task' && lease !== null ? deps.adopt?.(this.head, head, members, lease) : undefined;
    if (adopted?.kept === true) this.lease = null;
    this.reply.result(adopted?.head ?? head, adopted?.members ?? members);
    this.giveBack();
  }

  tasked(upstream: TaskedUpstream): void {
    if (!this.done) this.reply.tasked?.(upstream);
  }

  /** It is a task now, and has another time to end. */
  prolong(ms: number): void {
    if (this.done) return;
    this.prolongedTo = this.deps.clock.now() + ms;
    this.arm(ms);
  }

  fault(head: FaultHead): void {
    if (this.done) return;
    if (head.reason === 'lost' && this.again()) return;
    this.refuse(head);
  }

  private newFlow(): Flow {
    const { reply, deps } = this;
    return new Flow({
      queuedBytes: () => reply.queuedBytes(),
      event: (method, members) => reply.event(method, members),
      now: () => deps.clock.now(),
      maxQueuedBytes: deps.maxQueuedBytes,
      slowMs: deps.slowMs,
    });
  }

  private mine(claim: Awaited<ReturnType<Ownership['claim']>>): boolean {
    if (claim.kind === 'moved') this.refuse(faultOf('moved', { node: claim.node }));
    // Only what lives in one process must not be served twice (design §4 "Who owns a pool key").
    else if (claim.kind === 'unreachable' && this.spec.isolation === 'session') this.refuse(faultOf('unavailable'));
    return !this.done;
  }

  private async begin(owner: string): Promise<void> {
    this.calledAt = 0;
    this.arm(this.startMs());
    const { connector, pools } = this.deps;
    const profile = connector.known(this.spec) ?? (await connector.profile(this.spec, this.signal));
    if (this.done) return;
    // A little less than our own deadline, so that "busy" is said rather than "not started".
    const waitMs = Math.max(0, Math.min(this.deps.queueMs(), this.left() - 20));
    const lease = await pools.lease(leaseRequest(this, profile, { owner, waitMs, asks: this.deps.asks }));
    if (this.done) {
      lease.release();
      return;
    }
    this.lease = lease;
    this.calledAt = this.deps.clock.now();
    this.progressedAt = null;
    if (this.prolongedTo === 0 && this.calledAt + this.callMs() < this.firesAt) this.arm(this.callMs());
    const upstream = lease.connection.call(this.head, this.body, this);
    if (this.done) upstream.cancel('the exchange has ended');
    else this.upstream = upstream;
  }

  /** A safe method whose process died under it runs once more, if the caller has seen nothing of it (design §2). */
  private again(): boolean {
    const facts = MODERN_METHODS.get(this.head.method) ?? LEGACY_METHODS.get(this.head.method);
    if (facts?.safe !== true || this.tries > 0 || this.flow?.used === true || this.left() <= 0) return false;
    const dead = this.lease?.connection;
    if (dead === undefined) return false;
    this.tries++;
    this.upstream = null;
    this.giveBack();
    // After the pool has heard of it too, or it would lend the dead one again.
    dead.closed.then(() => this.begin(ownerOf(this.spec, this.head))).catch((error: unknown) => this.failed(error));
    return true;
  }

  /** The one timer came: for the start, or for the call, or too early since progress was seen. */
  private overdue(): void {
    if (this.calledAt === 0) {
      const words = `it was not ready within ${this.deps.clock.now() - this.openedAt} ms`;
      this.end('start-failed', `server "${this.spec.name}" could not be started: ${words}`);
      return;
    }
    // Progress shows that it works: the time starts anew, up to a maximum (protocol.md §4.7).
    const rest = this.callMs();
    if (rest > 0) this.arm(rest);
    else {
      const words = `did not answer within ${this.deps.clock.now() - this.openedAt} ms`;
      this.end('timeout', `server "${this.spec.name}" ${words}`);
    }
  }

  private failed(error: unknown): void {
    if (this.done) return;
    const { xid } = this.head;
    const where = { xid, server: this.spec.name, tenant: this.spec.tenant };
    if (error instanceof StartError) {
      // The tail is the operator's alone: it may hold anything.
      this.deps.log.warn({ ...where, why: error.words, stderr: error.stderrTail }, 'server could not be started');
      const message = `server "${this.spec.name}" could not be started: ${error.words}`;
      this.refuse(faultOf('start-failed', { message }));
      return;
    }
    if (error instanceof BusyError) {
      this.deps.log.info({ ...where, ...error.queue }, 'busy');
      this.refuse(faultOf('busy', { message: error.message, retryAfterMs: error.retryAfterMs }));
      return;
    }
    this.deps.log.warn({ ...where, err: error }, 'exchange failed');
    this.refuse(faultOf('internal', { mayHaveRun: this.running }));
  }

  private end(reason: 'cancelled' | 'timeout' | 'lost' | 'too-slow' | 'start-failed', words: string): void {
    if (!this.finish(reason)) return;
    this.reply.fault(faultOf(reason, { message: words, mayHaveRun: this.running }));
    // Before the lease goes back: the pool must see the taint.
    this.upstream?.cancel(words);
    this.leaving?.abort(new Error(words));
    this.giveBack();
  }

  private refuse(head: FaultHead): void {
    if (!this.finish(head.reason)) return;
    this.reply.fault(head);
    this.giveBack();
  }

  private finish(how: string): boolean {
    if (this.done) return false;
    this.done = true;
    this.timer?.clear();
    this.timer = null;
    this.deps.settled(this, how, this.deps.clock.now() - this.openedAt);
    return true;
  }

  private giveBack(): void {
    const { lease } = this;
    this.lease = null;
    lease?.release();
  }

  private arm(ms: number): void {
    this.timer?.clear();
    const wait = Math.max(0, ms);
    this.firesAt = this.deps.clock.now() + wait;
    this.timer = this.deps.clock.setTimer(wait, () => this.overdue());
  }

  private left(): number {
    return this.openedAt + this.head.deadlineMs - this.deps.clock.now();
  }

  private startMs(): number {
    return Math.min(this.left(), this.spec.startTimeoutMs + this.deps.probeMs + this.deps.queueMs());
  }

  private callMs(): number {
    const now = this.deps.clock.now();
    if (this.prolongedTo > 0) return this.prolongedTo - now;
    const deadline = this.progressedAt === null ? this.openedAt : this.progressedAt;
    const call = this.progressedAt ?? this.calledAt;
    return (
      Math.min(deadline + this.head.deadlineMs, call + this.spec.callTimeoutMs, this.calledAt + this.deps.maxCallMs) -
      now
    );
  }
}
