// One exchange on its way through this node: claim, profile, lease, call, answer (design §2, §4). It is settled exactly
// once, whatever happens, and gives its lease back whatever happens. Nothing is run twice but safe methods, once, when
// their process died under them (dispatch-again.ts). What its server asks is parked/held.ts.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { copyOf } from '@lockkeeper/protocol/json/bytes';
import type { Open, Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { heardOf, isSafe, mayGoAgain } from './dispatch-again.ts';
import { type Beginning, begin } from './dispatch-begin.ts';
import type { ExchangeDeps } from './dispatch-contract.ts';
import { failureOf, notMine } from './dispatch-failure.ts';
import { ownerOf } from './dispatch-lease.ts';
import { Leaving, type LeftExchange } from './dispatch-leaving.ts';
import { ExchangeTime, termsOf } from './dispatch-time.ts';
import { faultOf } from './errors.ts';
import type { OpenStream, StreamReply, TaskedUpstream } from './link/contract.ts';
import { Audience, type Listener } from './parked/audience.ts';
import type { Ended } from './parked/contract.ts';
import { Held, type HeldExchange } from './parked/held.ts';
import type { AskTerms } from './parked/parking.ts';
import type { ReturnTo } from './parked/returns.ts';
import { passedState, type StateText } from './parked/state-text.ts';
import type { TurnHost } from './parked/turn.ts';
import type { Lease } from './pool/contract.ts';
import { answersOf } from './raise/answers.ts';
import type { FaultHead, Question, ResultHead, UpstreamCall, UpstreamReply, Visit } from './raise/contract.ts';

type EndReason = 'cancelled' | 'timeout' | 'lost' | 'draining' | 'too-slow' | 'start-failed' | 'expired';

export class DispatchedExchange implements OpenStream, UpstreamReply, HeldExchange, LeftExchange, Beginning {
  readonly head: Open;
  latest: Open;
  readonly spec: ServerSpec;
  readonly deps: ExchangeDeps;
  readonly owner: string;
  readonly back: ReturnTo | undefined;
  body: Uint8Array;
  readonly audience: Audience;
  private readonly first: Listener;
  readonly time: ExchangeTime;
  private held: Held | null = null;
  private readonly leavers: Leaving;
  private leaving: AbortController | null = null;
  private lease: Lease | null = null;
  private upstream: UpstreamCall | null = null;
  done = false;
  private running = false;
  private tasks = false;
  private tries = 0;
  /** The call that runs, as its connection knows it. */
  asker: Open;

  constructor(deps: ExchangeDeps, spec: ServerSpec, head: Open, body: Uint8Array, reply: StreamReply, back?: ReturnTo) {
    this.deps = deps;
    this.back = back;
    this.spec = spec;
    this.owner = ownerOf(spec, head, deps.node);
    this.head = head;
    this.latest = head;
    this.asker = head;
    this.body = body;
    this.audience = new Audience(deps.flow, head.onVanish === 'keep');
    this.first = this.audience.join(reply);
    this.leavers = new Leaving(deps.clock, deps.rejoinMs);
    const over = (during: 'start' | 'call') => this.overdue(during);
    this.time = new ExchangeTime(deps.clock, () => termsOf(deps, spec, head), over);
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
      if (this.back?.unclaimed === true) return await begin(this);
      const fault = notMine(await this.deps.ownership.claim(this.spec.tenant, this.owner), this.spec);
      if (fault !== null) this.refuse(fault);
      else if (!this.done) await begin(this);
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
    this.leavers.end();
    if (head.wait === true) this.held?.waits(listener, round);
    else {
      this.latest = head;
      this.held?.rejoined(listener, answersOf(body), reply);
    }
    return stream;
  }

  /** The node ends under it (design §5 "Drain"). `elsewhere`: there are others, which may do it from the start. */
  lose(words: string, elsewhere = false): void {
    const whole = elsewhere && this.untold && (!this.running || isSafe(this.head));
    this.end(whole ? 'draining' : 'lost', words);
  }

  /** A task, or a person is part of it: asked, or answered before. */
  get lasting(): boolean {
    return this.tasks || this.asked;
  }

  get asked(): boolean {
    return this.held !== null && this.held.parking.set.round > 0;
  }

  get awaiting(): boolean {
    return this.held?.parking.awaiting === true;
  }

  /** Its states name a life of the node that is over. */
  orphaned(words: string): void {
    if (this.asked) this.lose(words);
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

  lent(lease: Lease): void {
    this.lease = lease;
  }

  profile(): Profile {
    return this.lease!.connection.profile;
  }

  pause(): void {
    this.time.pause();
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
    this.tasks = true;
    if (!this.done) this.time.prolong(ms);
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
    this.time.progressed();
  }

  result(head: ResultHead, members: Uint8Array): void {
    if (this.done) return;
    this.upstream = null;
    if (head.resultType !== 'input_required') {
      const { lease } = this;
      const tasked = head.resultType === 'task' && lease !== null;
      const adopted = tasked ? this.deps.adopt?.(this.head, head, members, lease) : undefined;
      if (adopted?.kept === true) this.lease = null;
      this.finish({ kind: 'result', head: adopted?.head ?? head, members: adopted?.members ?? members });
      return;
    }
    // Between modern peers nothing is held here: the state is the server's own (design §1 "raise").
    if (this.head.downstreamEra === 'legacy') this.asking()?.inputRequired(head, members);
    else {
      const mark = this.lease === null ? '' : this.deps.returns.mark(this.lease.connection);
      this.lease?.expect?.(this.deps.humanMs());
      this.finish({ kind: 'result', head: { ...head, state: passedState(head.state, mark) }, members });
    }
  }

  tasked(upstream: TaskedUpstream): void {
    if (!this.done) this.audience.tasked(upstream);
  }

  fault(head: FaultHead): void {
    if (this.done) return;
    this.upstream = null;
    if (mayGoAgain(this.head, head) && this.again(head)) return;
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
    if (this.held === null && this.deps.parked !== undefined) {
      // A copy: it may be kept for long, and the message it came in may be large.
      this.body = copyOf(this.body);
      this.held = new Held(this, this.deps.parked, this.deps.batonMs);
    }
    return this.held;
  }

  private gone(listener: Listener, how: 'close' | 'break'): void {
    if (!this.done && this.audience.has(listener)) this.leavers.gone(this, listener, how);
  }

  /** Once, and only if the caller has seen nothing of it. */
  private again({ mayHaveRun }: FaultHead): boolean {
    const dead = this.lease?.connection;
    if (dead === undefined || this.tries > 0 || !this.untold || this.time.leftMs <= 0) return false;
    this.tries++;
    if (!mayHaveRun) this.running = false;
    this.giveBack();
    heardOf(dead, this.deps.clock)
      .then(() => (this.done ? undefined : begin(this)))
      .catch((error: unknown) => this.failed(error));
    return true;
  }

  private get untold(): boolean {
    return !this.audience.used && this.held === null;
  }

  private overdue(during: 'start' | 'call'): void {
    const { name } = this.spec;
    const ms = this.time.spentMs;
    if (during === 'call') this.end('timeout', `server "${name}" did not answer within ${ms} ms`);
    else this.end('start-failed', `server "${name}" could not be started: it was not ready within ${ms} ms`);
  }

  turnHost(): TurnHost {
    return {
      lease: () => this.lease,
      upstream: () => this.upstream,
      pause: () => this.time.pause(),
      goOn: () => {
        if (!this.done) this.time.goOn();
      },
    };
  }

  private failed(error: unknown): void {
    if (this.done) return;
    const { head, spec, running, deps } = this;
    this.refuse(failureOf(error, { xid: head.xid, spec, running, log: deps.log }));
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
    // Heard by a gateway is not yet heard by its client: it may die with it (design §4 "Legacy streams").
    const kept = this.held !== null || this.head.onVanish === 'keep';
    const before = this.audience.said;
    if (ended.kind === 'result') this.audience.result(ended.head, ended.members);
    else this.audience.fault(ended.head);
    this.close(kept ? { ...ended, said: before } : null);
  }

  private over(how: string): boolean {
    if (this.done) return false;
    this.done = true;
    this.time.stop();
    this.leavers.end();
    this.deps.settled(this, how, this.time.spentMs);
    return true;
  }

  /** `ended`: for who asks later; null: nobody may, or nobody needs to. */
  private close(ended: Ended | null): void {
    this.held?.end();
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
}
