// The streams that wait for one exchange, on any gateway (design §4 "an exchange may be joined by several streams"):
// what it says goes to all of them, numbered, and each has exactly one ending. Without anybody the last progress is
// kept, and for a caller that is to be kept a bounded tail of what was said.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { Flow } from '../dispatch-flow.ts';
import type { StreamReply, TaskedUpstream } from '../link/contract.ts';
import type { FaultHead, ResultHead } from '../raise/contract.ts';
import type { Said } from './contract.ts';

export interface AudienceDeps {
  now(): number;
  readonly maxQueuedBytes: number;
  readonly slowMs: number;
}

export interface Listener {
  readonly reply: StreamReply;
  /** Came without answers, to hear of changes only (design §4 amendment 5). */
  readonly waits: boolean;
  flow: Flow | null;
}

const MAX_TAIL = 128;
const MAX_TAIL_BYTES = 256 * 1024;
const PROGRESS = 'notifications/progress';

export class Audience {
  /** Somebody has heard something of this call. */
  used = false;
  private readonly deps: AudienceDeps;
  private readonly keeps: boolean;
  private listeners: Listener[] = [];
  private hasStarted = false;
  private seq = 0;
  private tail: Said[] = [];
  private tailBytes = 0;

  /** `keeps`: what is said is kept for who joins later. */
  constructor(deps: AudienceDeps, keeps: boolean) {
    this.deps = deps;
    this.keeps = keeps;
  }

  get size(): number {
    return this.listeners.length;
  }

  /** For who joins when it is over. */
  get said(): readonly Said[] {
    return this.tail;
  }

  /** `fromSeq`: the number of the last event that the joiner knows. */
  join(reply: StreamReply, waits = false, fromSeq?: number): Listener {
    const listener: Listener = { reply, waits, flow: null };
    this.listeners.push(listener);
    if (this.hasStarted) reply.started();
    for (const said of this.tail) {
      if (fromSeq === undefined ? said.method === PROGRESS : said.seq > fromSeq) this.say(listener, said);
    }
    if (!this.keeps) this.forget();
    return listener;
  }

  has(listener: Listener): boolean {
    return this.listeners.includes(listener);
  }

  leave(listener: Listener): void {
    this.listeners = this.listeners.filter((one) => one !== listener);
  }

  started(): void {
    this.hasStarted = true;
    for (const { reply } of this.listeners) reply.started();
  }

  /** Those who read too slowly for too long; they are not let go. */
  event(method: string, members: Uint8Array): Listener[] {
    const said = { seq: ++this.seq, method, members };
    if (this.keeps || this.listeners.length === 0) this.remember(said);
    if (this.listeners.length === 1) return this.say(this.listeners[0]!, said) ? NOBODY : [...this.listeners];
    return this.listeners.filter((listener) => !this.say(listener, said));
  }

  tasked(upstream: TaskedUpstream): void {
    for (const { reply } of this.listeners) reply.tasked?.(upstream);
  }

  /** An ending for everyone, or for those that `to` names. */
  result(head: ResultHead, members: Uint8Array, to?: (listener: Listener) => boolean): void {
    for (const { reply, flow } of this.endings(to)) {
      flow?.flush();
      reply.result(head, members);
    }
  }

  fault(head: FaultHead, to?: (listener: Listener) => boolean): void {
    for (const { reply } of this.endings(to)) reply.fault(head);
  }

  private endings(to: ((listener: Listener) => boolean) | undefined): Listener[] {
    const ended = to === undefined ? this.listeners : this.listeners.filter(to);
    this.listeners = to === undefined ? [] : this.listeners.filter((listener) => !ended.includes(listener));
    return ended;
  }

  private say(listener: Listener, { method, members, seq }: Said): boolean {
    this.used = true;
    const { reply } = listener;
    listener.flow ??= new Flow({
      queuedBytes: () => reply.queuedBytes(),
      event: (m, bytes, n) => reply.event(m, bytes, n),
      now: this.deps.now,
      maxQueuedBytes: this.deps.maxQueuedBytes,
      slowMs: this.deps.slowMs,
    });
    return listener.flow.event(method, members, seq);
  }

  private remember(said: Said): void {
    // Of progress only the last counts; of the rest nobody who left needs a word, unless he is to be kept.
    if (said.method === PROGRESS) this.drop((one) => one.method === PROGRESS);
    else if (!this.keeps) return;
    const members = copyOf(said.members);
    this.tail.push({ ...said, members });
    this.tailBytes += members.length;
    while (this.tail.length > MAX_TAIL || this.tailBytes > MAX_TAIL_BYTES) {
      this.tailBytes -= this.tail.shift()!.members.length;
    }
  }

  private drop(which: (said: Said) => boolean): void {
    this.tail = this.tail.filter((said) => !which(said));
    this.tailBytes = this.tail.reduce((sum, { members }) => sum + members.length, 0);
  }

  private forget(): void {
    this.tail = [];
    this.tailBytes = 0;
  }
}

const NOBODY: Listener[] = [];
