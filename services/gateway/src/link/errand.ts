// One call or listen on its way to an ending (design §4): chooses the node, sends, and by what comes back ends, or
// goes elsewhere. Before `started` elsewhere is allowed; after it only what is safe goes again, once. It settles
// exactly once, whatever nodes, callers and clocks do.

import type { Channel } from '@lockkeeper/protocol/link/channel';
import { type Fault, type FaultReason, NO_BODY, type Result, type StreamHead } from '@lockkeeper/protocol/link/frames';
import type { Stream, StreamHandler } from '@lockkeeper/protocol/link/stream';
import { WireFault } from '@lockkeeper/protocol/link/wire-fault';
import type { Seated } from '@lockkeeper/protocol/roster';
import type { Clock } from '@lockkeeper/state/clock';
import type { LinkAnswer, LinkListener } from './contract.ts';
import { courseAfter, faultOf } from './errand-fault.ts';
import { firstToAsk, mayCome, nextToAsk, nextWithRoom, whoKnowsTheEnd } from './errand-node.ts';
import type { ErrandSpec } from './errand-spec.ts';
import { pauseAfter, Wait } from './errand-wait.ts';
import type { NodePeer } from './node-peer.ts';
import type { Peers } from './peers.ts';
import type { Wheel, WheelEntry } from './wheel.ts';

export interface ErrandDeps {
  readonly peers: Peers;
  readonly wheel: Wheel;
  readonly clock: Clock;
  readonly settled: (errand: Errand) => void;
}

/** The node keeps the deadline; ours is for a node that does not. */
const GRACE_MS = 2_000;
/** For a node to appear or come back, and for a dead node's lease to end. */
const PATIENCE_MS = 20_000;
const NO_NODE_PATIENCE_MS = 5_000;
const MAX_ATTEMPTS = 24;
const GONE = 'The node that ran this is gone.';

let made = 0;

export class Errand implements StreamHandler, WheelEntry, Seated {
  readonly spec: ErrandSpec;
  /** Rises with each errand of this process. */
  readonly number = ++made;
  seat = -1;
  slot = 0;
  place = 0;
  peer: NodePeer | null = null;
  readonly #deps: ErrandDeps;
  readonly #listener: LinkListener;
  readonly #resolve: (answer: LinkAnswer) => void;
  readonly #begunAt: number;
  #deadlineAt: number;
  #channel: Channel | null = null;
  #stream: Stream | null = null;
  #started = false;
  #resent = false;
  /** What it does for the second time has been seen to progress; progress only ever rises. */
  #silent = false;
  /** Its node is gone: another has been asked what is recorded. */
  #afterwards = false;
  #settled = false;
  #attempts = 0;
  #seenSeq = 0;
  #tried: Set<NodePeer> | null = null;
  #wait: Wait | null = null;
  #leftPeer: (() => void) | null = null;

  constructor(spec: ErrandSpec, listener: LinkListener, deps: ErrandDeps, resolve: (answer: LinkAnswer) => void) {
    this.spec = spec;
    this.#listener = listener;
    this.#deps = deps;
    this.#resolve = resolve;
    this.#begunAt = deps.clock.now();
    this.#deadlineAt = this.#begunAt + (spec.deadlineMs ?? 0);
    if (spec.deadlineMs !== null) deps.wheel.add(this, spec.deadlineMs + GRACE_MS);
  }

  begin(): void {
    if (this.#settled) return;
    const { incarnation } = this.spec;
    if (incarnation !== undefined) this.#beginAt(incarnation);
    else {
      const peer = firstToAsk(this.#deps.peers, this.spec, this.#attempts, this.#tried);
      if (peer !== undefined) this.#send(peer);
      // All that may take it were tried: they may have changed their minds after a pause.
      else if (this.#tried !== null && this.#tried.size > 0) this.#pause();
      else this.#awaitNode('No pool manager can be reached.');
    }
  }

  /** Ends it from this side: the caller left, its deadline came, or its link closes. */
  abandon(reason: FaultReason, message: string): void {
    this.#leave();
    this.#fail(reason, message);
  }

  expire(): void {
    const left = this.#deadlineAt + GRACE_MS - this.#deps.clock.now();
    if (left > 0) this.#deps.wheel.add(this, left);
    else this.abandon('timeout', 'No answer came in time.');
  }

  message(head: StreamHead, body: Uint8Array): undefined | Promise<void> {
    switch (head.kind) {
      case 'event': {
        this.#seenSeq = head.seq;
        if (this.spec.deadlineMs !== null) this.#deadlineAt = this.#deps.clock.now() + this.spec.deadlineMs;
        if (this.#silent && head.method === 'notifications/progress') return undefined;
        const taking = this.#listener.event(head.method, body, head.seq);
        return taking instanceof Promise ? taking : undefined;
      }
      case 'started':
        this.#started = true;
        return undefined;
      case 'accepted':
        this.#started = true;
        this.#listener.accepted?.();
        return undefined;
      case 'result':
        this.#over();
        this.#settle(head.resultType === 'complete' ? { kind: 'result', head, body } : this.#unfinished(head, body));
        return undefined;
      case 'error':
        this.#over();
        this.#faulted(head);
        return undefined;
      default:
        throw new WireFault('bad-frame', `${head.kind} from a node`);
    }
  }

  broken(reason: string): void {
    this.#forget();
    if (this.#settled) return;
    if (this.#mayGoAgain()) this.begin();
    else this.#fail('lost', `The connection to the pool manager was lost: ${reason}.`);
  }

  /** What has started only if it is safe, and once (design §2). */
  #mayGoAgain(): boolean {
    if (!this.#started) return true;
    if (!this.spec.safe || this.#resent) return false;
    this.#resent = true;
    this.#silent = this.#seenSeq > 0;
    this.#started = false;
    return true;
  }

  #faulted(fault: Fault): void {
    switch (courseAfter(fault, this.spec, this.#started, this.#afterwards)) {
      case 'gone':
        this.#fail('lost', GONE, true);
        break;
      case 'moved':
        this.#follow(fault.node!);
        break;
      case 'drained':
        if (this.#mayGoAgain()) this.#leaveNode();
        else this.#settle({ kind: 'fault', fault });
        break;
      case 'ask-next':
        this.#sendOr(fault, nextToAsk(this.#deps.peers, this.#tryAnother()));
        break;
      case 'overflow':
        this.#sendOr(fault, nextWithRoom(this.#deps.peers, this.spec, this.#tryAnother()));
        break;
      case 'over':
        this.#settle({ kind: 'fault', fault });
    }
  }

  #follow(node: string): void {
    const { peers } = this.#deps;
    const known = peers.withId(node);
    peers.moved(this.spec.owner, node);
    this.#tried = null;
    // The node that has it is not there, or refused before: its lease ends, or it comes back.
    if (known === undefined || known.channel === null || known.draining || this.#attempts > 3) this.#pause();
    else this.begin();
  }

  /** It drains. */
  #leaveNode(): void {
    if (this.peer !== null) this.#deps.peers.drains(this.peer);
    this.#tryAnother();
    this.begin();
  }

  /** Those that have been tried, this one among them now. */
  #tryAnother(): ReadonlySet<NodePeer> {
    this.#tried ??= new Set();
    if (this.peer !== null) this.#tried.add(this.peer);
    return this.#tried;
  }

  #sendOr(fault: Fault, next: NodePeer | undefined): void {
    if (next === undefined) this.#settle({ kind: 'fault', fault });
    else this.#send(next);
  }

  #beginAt(incarnation: string): void {
    const peer = this.#deps.peers.withIncarnation(incarnation);
    if (peer === undefined && !mayCome(this.#deps.peers, this.spec)) this.#lost(GONE);
    else if (peer !== undefined && peer.channel !== null) this.#send(peer);
    else this.#awaitNode('The node that runs this cannot be reached.');
  }

  /** The node is gone, or lives on without what it ran; the record of an end may be there all the same (design §4). */
  #lost(words: string): void {
    const peer = this.#afterwards ? undefined : whoKnowsTheEnd(this.#deps.peers, this.spec);
    if (peer === undefined) {
      this.#fail('lost', words, true);
      return;
    }
    this.#afterwards = true;
    this.#send(peer);
  }

  /** There may be more of it, at this node only. */
  #unfinished(head: Result, body: Uint8Array): LinkAnswer {
    const answer = { kind: 'result', head, body } as const;
    return this.peer === null ? answer : { ...answer, node: { id: this.peer.id, incarnation: this.peer.incarnation } };
  }

  #send(peer: NodePeer): void {
    this.#attempts += 1;
    if (this.#attempts > MAX_ATTEMPTS) {
      this.#fail('unavailable', 'No pool manager takes this call.');
      return;
    }
    const channel = peer.channel!;
    const stream = channel.open(this);
    this.#leftPeer?.();
    if ((this.spec.nodes ?? 1) > 1) this.#leftPeer = this.#deps.peers.begin(this.spec.owner, peer);
    this.peer = peer;
    this.#channel = channel;
    this.#stream = stream;
    const { deadlineMs } = this.spec;
    const leftMs = this.#attempts === 1 || deadlineMs === null ? (deadlineMs ?? 0) : Math.max(1, this.#left());
    const head = this.spec.head(stream.id, leftMs, this.#seenSeq, this.#afterwards);
    if (channel.send(stream, head, this.#afterwards ? NO_BODY : this.spec.body)) return;
    this.#leave();
    this.#fail('too-large', 'The request does not fit the link.');
  }

  #left(): number {
    if (this.spec.deadlineMs === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#deadlineAt - this.#deps.clock.now());
  }

  /** Until something about the nodes changes. */
  #awaitNode(words: string): void {
    const { clock, peers } = this.#deps;
    const left = Math.min(this.#begunAt + NO_NODE_PATIENCE_MS - clock.now(), this.#left());
    if (left > 0) this.#wait = new Wait(left, () => this.#goOn(), clock, peers);
    else if (this.spec.incarnation === undefined) this.#fail('unavailable', words);
    else this.#lost(words);
  }

  /** For a lease to end, or a drained cluster to get a new node. */
  #pause(): void {
    const { clock } = this.#deps;
    if (clock.now() - this.#begunAt > PATIENCE_MS || this.#left() <= 0) {
      this.#fail('unavailable', 'No pool manager takes this call now.');
      return;
    }
    this.#tried = null;
    this.#wait = new Wait(pauseAfter(this.#attempts), () => this.#goOn(), clock, null);
  }

  #goOn(): void {
    this.#wake();
    this.begin();
  }

  #wake(): void {
    this.#wait?.end();
    this.#wait = null;
  }

  /** The node has ended the stream. */
  #over(): void {
    if (this.#stream !== null) this.#channel?.leave(this.#stream);
    this.#forget();
  }

  /** We end the stream. */
  #leave(): void {
    if (this.#stream !== null) this.#channel?.close(this.#stream);
    this.#forget();
  }

  #forget(): void {
    this.#stream = null;
    this.#channel = null;
  }

  #fail(reason: FaultReason, message: string, mayHaveRun = this.#started || this.#resent || this.#afterwards): void {
    this.#settle({ kind: 'fault', fault: faultOf(reason, message, mayHaveRun) });
  }

  #settle(answer: LinkAnswer): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#leftPeer?.();
    this.#wake();
    if (this.slot !== 0) this.#deps.wheel.remove(this);
    this.#deps.settled(this);
    this.#resolve(answer);
  }
}
