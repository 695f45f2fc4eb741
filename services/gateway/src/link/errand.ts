// One call or listen on its way to an ending (design §4): chooses the node, sends, and by what comes back ends, or
// goes elsewhere. Before `started` elsewhere is allowed; after it only what is safe goes again, once. It settles
// exactly once, whatever nodes, callers and clocks do.

import type { Channel } from '@lockkeeper/protocol/link/channel';
import { type Fault, type FaultReason, NO_BODY, type Result, type StreamHead } from '@lockkeeper/protocol/link/frames';
import type { Stream, StreamHandler } from '@lockkeeper/protocol/link/stream';
import { WireFault } from '@lockkeeper/protocol/link/wire-fault';
import type { Seated } from '@lockkeeper/protocol/roster';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { LinkAnswer, LinkListener } from './contract.ts';
import type { NodePeer } from './node-peer.ts';
import type { Peers } from './peers.ts';
import type { Wheel, WheelEntry } from './wheel.ts';

export interface ErrandSpec {
  readonly owner: string;
  /** On how many nodes its owner's work may be at once; absent: on one. */
  readonly nodes?: number | undefined;
  /** Null: a listen. */
  readonly xid: string | null;
  /** Only the node under this name may serve it. */
  readonly incarnation: string | undefined;
  /** Its id, if the asker has it. */
  readonly node: string | undefined;
  /** Asks for an exchange that may run at any node, and starts nothing: all are asked before it is unknown. */
  readonly joins: boolean;
  /** How its exchange ended is in the store, where any node finds it when the one that ran it is gone. */
  readonly recorded: boolean;
  readonly safe: boolean;
  readonly body: Uint8Array;
  /** Null: no deadline (listen is exempt, protocol.md §4.7). */
  readonly deadlineMs: number | null;
  /** `anywhere`: for a node that did not run it, and is to run nothing. */
  head(stream: number, leftMs: number, seenSeq: number, anywhere: boolean): StreamHead;
}

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
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
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
  #timer: Timer | null = null;
  #stopWaiting: (() => void) | null = null;
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
    const { incarnation, owner, nodes } = this.spec;
    if (incarnation !== undefined) this.#beginAt(incarnation);
    else {
      const peer = this.#before() ?? this.#deps.peers.choose(owner, this.#tried, nodes);
      if (peer !== undefined) this.#send(peer);
      // All that may take it were tried: they may have changed their minds after a pause.
      else if (this.#tried !== null && this.#tried.size > 0) this.#pause();
      else this.#awaitNode('No pool manager can be reached.');
    }
  }

  /** The node that answered before, once: it may drain by now, or the key may be another's. */
  #before(): NodePeer | undefined {
    const { node } = this.spec;
    if (node === undefined || this.#attempts > 0) return undefined;
    const peer = this.#deps.peers.withId(node);
    return peer === undefined || peer.channel === null ? undefined : peer;
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
    const { reason } = fault;
    const free = this.spec.incarnation === undefined;
    const elsewhere = free && !this.#started;
    // Nothing is recorded: what a node says of itself is not of that call.
    if (this.#afterwards && !this.#started) this.#fail('lost', GONE, true);
    else if (elsewhere && reason === 'moved' && fault.node !== undefined) {
      const { peers } = this.#deps;
      const known = peers.withId(fault.node);
      peers.moved(this.spec.owner, fault.node);
      this.#tried = null;
      // The node that has it is not there, or refused before: its lease ends, or it comes back.
      if (known === undefined || known.channel === null || known.draining || this.#attempts > 3) this.#pause();
      else this.begin();
    } else if (free && reason === 'draining' && this.#mayGoAgain()) {
      this.#tried ??= new Set();
      if (this.peer !== null) {
        this.#deps.peers.drains(this.peer);
        this.#tried.add(this.peer);
      }
      this.begin();
    } else if (elsewhere && reason === 'unknown-exchange' && this.spec.joins) this.#askNext(fault);
    else if (elsewhere && reason === 'busy' && this.spec.nodes !== undefined) this.#overflow(fault, this.spec.nodes);
    else this.#settle({ kind: 'fault', fault });
  }

  /** Another of those that may serve it has room, perhaps. */
  #overflow(fault: Fault, nodes: number): void {
    this.#tried ??= new Set();
    if (this.peer !== null) this.#tried.add(this.peer);
    const next = nodes > 1 ? this.#deps.peers.choose(this.spec.owner, this.#tried, nodes) : undefined;
    if (next === undefined) this.#settle({ kind: 'fault', fault });
    else this.#send(next);
  }

  /** The exchange may run at a node that drains, or that had the key before. */
  #askNext(fault: Fault): void {
    this.#tried ??= new Set();
    if (this.peer !== null) this.#tried.add(this.peer);
    const next = this.#deps.peers.connected().find((peer) => this.#tried?.has(peer) !== true);
    if (next === undefined) this.#settle({ kind: 'fault', fault });
    else this.#send(next);
  }

  #beginAt(incarnation: string): void {
    const peer = this.#deps.peers.withIncarnation(incarnation);
    if (peer === undefined && !this.#mayCome()) this.#lost(GONE);
    else if (peer !== undefined && peer.channel !== null) this.#send(peer);
    else this.#awaitNode('The node that runs this cannot be reached.');
  }

  /** The node is gone, or lives on without what it ran; the record of an end may be there all the same (design §4). */
  #lost(words: string): void {
    const { recorded, node } = this.spec;
    const nodes = this.#deps.peers.connected();
    const peer = nodes.find(({ id }) => id === node) ?? nodes[0];
    if (!recorded || this.#afterwards || peer === undefined) {
      this.#fail('lost', words, true);
      return;
    }
    this.#afterwards = true;
    this.#send(peer);
  }

  /** Another replica met that node, or that life of it, before we did: it is not lost because we have not yet. */
  #mayCome(): boolean {
    const { node } = this.spec;
    return node !== undefined && (this.#deps.peers.withId(node)?.channel ?? null) === null;
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
    const left = Math.min(this.#begunAt + NO_NODE_PATIENCE_MS - this.#deps.clock.now(), this.#left());
    if (left <= 0) {
      if (this.spec.incarnation === undefined) this.#fail('unavailable', words);
      else this.#lost(words);
      return;
    }
    const go = () => {
      this.#wake();
      this.begin();
    };
    this.#stopWaiting = this.#deps.peers.onceChanged(go);
    this.#timer = this.#deps.clock.setTimer(left, go);
  }

  /** For a lease to end, or a drained cluster to get a new node. */
  #pause(): void {
    const { clock } = this.#deps;
    if (clock.now() - this.#begunAt > PATIENCE_MS || this.#left() <= 0) {
      this.#fail('unavailable', 'No pool manager takes this call now.');
      return;
    }
    this.#tried = null;
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(5, this.#attempts));
    this.#timer = clock.setTimer(pause, () => {
      this.#wake();
      this.begin();
    });
  }

  #wake(): void {
    this.#timer?.clear();
    this.#timer = null;
    this.#stopWaiting?.();
    this.#stopWaiting = null;
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

export function faultOf(reason: FaultReason, message: string, mayHaveRun: boolean): Fault {
  return { kind: 'error', stream: 0, seq: 0, reason, code: -32603, message, mayHaveRun };
}
