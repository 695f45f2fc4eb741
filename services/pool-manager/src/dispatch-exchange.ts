// One exchange on its way through this node: claim, profile, lease, call, answer (design §2, §4). It is settled exactly
// once, whatever happens, and gives its lease back whatever happens. Nothing is run twice but safe methods, once, when
// their process died under them. What its server asks is parked/held.ts; here it only knows that time stands still.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open, Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { leaseRequest, ownerOf } from './dispatch-lease.ts';
import { faultOf } from './errors.ts';
import type { OpenStream, Ownership, StreamReply, TaskedUpstream } from './link/contract.ts';
import { Audience, type AudienceDeps, type Listener } from './parked/audience.ts';
import type { Ended, Parked } from './parked/contract.ts';
import { Held, type HeldExchange } from './parked/held.ts';
import type { AskTerms } from './parked/parking.ts';
import { passedState, type StateText } from './parked/state-text.ts';
import { BusyError, type Lease, type Pools } from './pool/contract.ts';
import { answersOf } from './raise/answers.ts';
import { letsAsk } from './raise/carry.ts';
import {
  type Connector,
  type FaultHead,
  type Log,
  type Question,
  type ResultHead,
  StartError,
  type UpstreamCall,
  type UpstreamReply,
  type Visit,
} from './raise/contract.ts';
import type { Adopted } from './tasks/tasks.ts';

export interface ExchangeDeps {
  readonly connector: Pick<Connector, 'known' | 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes what upstreams ask; absent: nothing that asks is declared to them. */
  readonly parked: Parked | undefined;
  /** How long an answered call waits for its turn before it goes on beside the one that runs. */
  readonly batonMs: number;
  /** How long a later round waits for its caller when the link broke under it (design §4 amendment 6). */
  readonly rejoinMs: number;
  readonly queueMs: () => number;
  readonly flow: AudienceDeps;
  /** On top of the start time-out: the probe of a server not seen before. */
  readonly probeMs: number;
  /** Progress keeps a call alive, but not for ever (26/cancel "maximum timeout"). */
  readonly maxCallMs: number;
  settled(exchange: DispatchedExchange, how: string, ms: number): void;
  /** A modern server made a task of the call: its process is kept by whoever keeps tasks (design §5 "Obligations"). */
  adopt?(head: Open, result: ResultHead, members: Uint8Array, lease: Lease): Adopted;
}

type EndReason = 'cancelled' | 'timeout' | 'lost' | 'too-slow' | 'start-failed' | 'expired';

export class DispatchedExchange implements OpenStream, UpstreamReply, HeldExchange {
  readonly head: Open;
  latest: Open;
  readonly spec: ServerSpec;
  private readonly deps: ExchangeDeps;
  readonly body: Uint8Array;
  readonly audience: Audience;
  private readonly first: Listener;
  private readonly openedAt: number;
  private held: Held | null = null;
  /** Ms in which it waited for people, or for its turn. */
  private stoodStill = 0;
  private pausedAt: number | null = null;
  private yielded: AbortController | null = null;
  private absence: Timer | null = null;
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
  /** The call that runs, as its connection knows it. */
  asker: Open;

  constructor(deps: ExchangeDeps, spec: ServerSpec, head: Open, body: Uint8Array, reply: StreamReply) {
    this.deps = deps;
    this.spec = spec;
    this.head = head;
    this.latest = head;
    this.asker = head;
    this.body = body;
    this.audience = new Audience(deps.flow, head.onVanish === 'keep');
    this.first = this.audience.join(reply);
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

  /** The first stream's caller left. */
  vanished(how: 'close' | 'break'): void {
    this.gone(this.first, how);
  }

  /** Another stream of the same caller. It brings answers, or waits for what is new (design §4). */
  rejoin(head: Open, body: Uint8Array, reply: StreamReply, state: StateText | null): OpenStream {
    const listener = this.audience.join(reply, head.wait === true, head.fromSeq);
    const vanished = (how: 'close' | 'break') => this.gone(listener, how);
    const stream: OpenStream = { vanished, prolong: (ms) => this.prolong(ms) };
    const round = state?.kind === 'held' ? state.round : undefined;
    const nonce = state?.kind === 'held' ? state.nonce : '';
    const fits =
      state === null ? head.wait === true : round !== undefined && this.held?.parking.set.knows(round, nonce);
    if (fits !== true) {
      this.audience.fault(faultOf('unknown-exchange'), (one) => one === listener);
      return stream;
    }
    this.absence?.clear();
    this.absence = null;
    if (head.wait === true) this.held?.waits(listener, round);
    else {
      this.latest = head;
      this.held?.rejoined(listener, answersOf(body), reply);
    }
    return stream;
  }

  /** The node ends under it (design §5 "Drain"). */
  lose(words: string): void {
    this.end('lost', words);
  }

  // What its server asks.

  ask(question: Question, terms: AskTerms): void {
    if (this.done) question.refuse(-32602, 'The request that this belonged to is over');
    else this.asking()?.ask(question, terms);
  }

  withdraw(id: string): boolean {
    return this.held?.parking.withdraw(id) === true;
  }

  completed(elicitationId: string): void {
    if (!this.done) this.held?.completed(elicitationId);
  }

  lacked(need: ClientCapabilities): void {
    if (!this.done) this.asking()?.lacked(need);
  }

  /** Nobody answered (protocol.md §5.5 "timeout"): its states are void from now on. */
  expired(): void {
    this.end('expired', 'nobody answered its questions in time');
  }

  profile(): Profile {
    return this.lease!.connection.profile;
  }

  pause(): void {
    this.pausedAt ??= this.deps.clock.now();
    this.timer?.clear();
    this.timer = null;
  }

  yields(): void {
    if (this.done) return;
    this.pause();
    // A turn that is still awaited is given up with it.
    this.yielded?.abort(new Error('it waits for its caller again'));
    this.yielded = new AbortController();
    this.upstream?.park?.();
    this.lease?.park?.();
  }

  regains(): Promise<void> | null {
    const { yielded, lease } = this;
    if (yielded === null || lease?.resume === undefined) {
      this.goOn();
      return null;
    }
    // A server that does one thing at a time never ends what runs now: after a while both run (protocol.md §5.0).
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const patience = this.deps.clock.setTimer(this.deps.batonMs, resolve);
    lease.resume(yielded.signal).then(resolve, reject);
    return promise
      .finally(() => patience.clear())
      .then(() => {
        if (this.done || this.yielded !== yielded) throw new Error('it is over, or waits again');
        this.goOn();
      });
  }

  call(head: Open, body: Uint8Array): void {
    if (this.done || this.lease === null) return;
    this.asker = head;
    const upstream = this.lease.connection.call(head, body, this);
    if (this.done) upstream.cancel('the exchange has ended');
    else this.upstream = upstream;
  }

  gaveUp(reason: 'timeout', words: string): void {
    this.end(reason, `server "${this.spec.name}": ${words}`);
  }

  /** It is a task now, and has another time to end. */
  prolong(ms: number): void {
    if (this.done) return;
    this.prolongedTo = this.now() + ms;
    if (this.pausedAt === null) this.arm(ms);
  }

  // What its server says.

  started(): void {
    this.running = true;
    this.audience.started();
  }

  event(method: string, members: Uint8Array): void {
    if (this.done) return;
    const slow = this.audience.event(method, members);
    if (slow.length === 0) return;
    if (slow.length === this.audience.size) this.end('too-slow', 'the client reads too slowly');
    else this.audience.fault(faultOf('too-slow', { mayHaveRun: this.running }), (one) => slow.includes(one));
  }

  progressed(): void {
    this.progressedAt = this.now();
  }

  result(head: ResultHead, members: Uint8Array): void {
    if (this.done) return;
    this.upstream = null;
    if (head.resultType !== 'input_required') {
      const { lease, deps } = this;
      const tasked = head.resultType === 'task' && lease !== null;
      const adopted = tasked ? deps.adopt?.(this.head, head, members, lease) : undefined;
      if (adopted?.kept === true) this.lease = null;
      this.finish({ kind: 'result', head: adopted?.head ?? head, members: adopted?.members ?? members });
      return;
    }
    // Between modern peers nothing is held here: the state is the server's own (design §1 "raise").
    if (this.head.downstreamEra === 'legacy') this.asking()?.inputRequired(head, members);
    else {
      const state = head.state === undefined ? {} : { state: passedState(head.state) };
      this.finish({ kind: 'result', head: { ...head, ...state }, members });
    }
  }

  tasked(upstream: TaskedUpstream): void {
    if (!this.done) this.audience.tasked(upstream);
  }

  fault(head: FaultHead): void {
    if (this.done) return;
    this.upstream = null;
    if (head.reason === 'lost' && this.again()) return;
    this.refuse(head);
  }

  visitFirst(visits: readonly Visit[], fallback: FaultHead): void {
    if (this.done) return;
    this.upstream = null;
    const asking = this.asking();
    if (asking === null) this.refuse(fallback);
    else asking.visitFirst(visits, fallback);
  }

  private asking(): Held | null {
    if (this.held === null && this.deps.parked !== undefined) this.held = new Held(this, this.deps.parked);
    return this.held;
  }

  /** Vanishing (design §4 amendment 6). After an `input_required` was delivered nobody needs to be there. */
  private gone(listener: Listener, how: 'close' | 'break'): void {
    if (this.done || !this.audience.has(listener)) return;
    const others = this.audience.size > 1;
    if (others || this.head.onVanish === 'keep' || this.held?.parking.awaiting === true) this.audience.leave(listener);
    else if (how === 'close') this.cancel('the client left');
    else if (this.held === null || this.held.parking.set.round === 0) this.cancel('the link broke');
    else {
      this.audience.leave(listener);
      this.absence ??= this.deps.clock.setTimer(this.deps.rejoinMs, () => {
        this.absence = null;
        if (this.audience.size === 0 && this.held?.parking.awaiting !== true) this.cancel('the link broke');
      });
    }
  }

  /** Time counts again. */
  private goOn(): void {
    this.yielded = null;
    if (this.pausedAt === null || this.done) return;
    this.stoodStill += this.deps.clock.now() - this.pausedAt;
    this.pausedAt = null;
    this.upstream?.resume?.();
    this.arm(this.callMs());
  }

  /** By the exchange's own time, which stands still while people think. */
  private now(): number {
    return (this.pausedAt ?? this.deps.clock.now()) - this.stoodStill;
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
    const request = leaseRequest(this, profile, { owner, waitMs, asks: this.deps.parked !== undefined });
    const lease = await pools.lease(request);
    if (this.done) {
      lease.release();
      return;
    }
    this.lease = lease;
    this.calledAt = this.now();
    this.progressedAt = null;
    if (this.prolongedTo === 0 && this.calledAt + this.callMs() < this.firesAt) this.arm(this.callMs());
    this.call(this.head, this.body);
    if (!this.done && letsAsk(request.capabilities)) this.deps.parked?.attach(lease.connection, this);
  }

  /** A safe method whose process died under it runs once more, if the caller has seen nothing of it (design §2). */
  private again(): boolean {
    const facts = MODERN_METHODS.get(this.head.method) ?? LEGACY_METHODS.get(this.head.method);
    if (facts?.safe !== true || this.tries > 0 || this.audience.used || this.held !== null || this.left() <= 0)
      return false;
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

  /** Its server is still at work: told to stop, then whatever it asked is answered (protocol.md §5.5 "timeout"). */
  private end(reason: EndReason, words: string): void {
    if (!this.over(reason)) return;
    const { upstream } = this;
    const told = reason === 'expired' ? 'timeout' : reason;
    const head = faultOf(told, { message: words, mayHaveRun: this.running });
    this.audience.fault(head);
    // Before the lease goes back: the pool must see the taint.
    upstream?.cancel(words);
    this.leaving?.abort(new Error(words));
    this.close(reason === 'expired' || reason === 'cancelled' ? null : { kind: 'fault', head });
  }

  private refuse(head: FaultHead): void {
    this.finish({ kind: 'fault', head });
  }

  finish(said: Ended): void {
    const ended = this.held === null || this.done ? said : this.held.instead(said);
    if (!this.over(ended.kind === 'result' ? 'result' : ended.head.reason)) return;
    const unheard = this.audience.size === 0;
    if (ended.kind === 'result') this.audience.result(ended.head, ended.members);
    else this.audience.fault(ended.head);
    this.close(this.held !== null || (unheard && this.head.onVanish === 'keep') ? ended : null);
  }

  private over(how: string): boolean {
    if (this.done) return false;
    this.done = true;
    for (const timer of [this.timer, this.absence]) timer?.clear();
    this.timer = null;
    this.deps.settled(this, how, this.deps.clock.now() - this.openedAt);
    return true;
  }

  /** `ended`: for who asks later; null: nobody may, or nobody needs to. */
  private close(ended: Ended | null): void {
    this.held?.end();
    this.yielded?.abort(new Error('the exchange has ended'));
    if (this.held !== null || ended !== null) this.deps.parked?.ended(this, ended);
    this.giveBack();
  }

  private giveBack(): void {
    const { lease } = this;
    if (lease === null) return;
    this.lease = null;
    this.deps.parked?.detach(lease.connection, this);
    lease.release();
  }

  private arm(ms: number): void {
    this.timer?.clear();
    const wait = Math.max(0, ms);
    this.firesAt = this.deps.clock.now() + wait;
    this.timer = this.deps.clock.setTimer(wait, () => this.overdue());
  }

  private left(): number {
    return this.openedAt + this.head.deadlineMs - this.now();
  }

  private startMs(): number {
    return Math.min(this.left(), this.spec.startTimeoutMs + this.deps.probeMs + this.deps.queueMs());
  }

  private callMs(): number {
    const now = this.now();
    if (this.prolongedTo > 0) return this.prolongedTo - now;
    const deadline = this.progressedAt === null ? this.openedAt : this.progressedAt;
    const call = this.progressedAt ?? this.calledAt;
    return (
      Math.min(deadline + this.head.deadlineMs, call + this.spec.callTimeoutMs, this.calledAt + this.deps.maxCallMs) -
      now
    );
  }
}
