// A call that may become a task on its way (design §4 amendment 9): passes everything on until its time is over, then
// answers its caller with a task and turns what comes later into that. Only while it runs: a call that asks something
// has answered this stream already.

import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { OpenStream, StreamReply, TaskedUpstream } from '../link/contract.ts';
import type { FaultHead, ResultHead } from '../raise/contract.ts';
import type { KeptTask } from './kept-task.ts';

export interface PromotableDeps {
  readonly clock: Clock;
  /** Null: the node keeps no more of them; the call stays a call. */
  keep(head: Open, upstream: TaskedUpstream | null): KeptTask | null;
}

export class Promotable implements StreamReply, OpenStream {
  private readonly deps: PromotableDeps;
  private readonly head: Open;
  private readonly reply: StreamReply;
  private readonly afterMs: number | null;
  private inner: OpenStream | null = null;
  private timer: Timer | null = null;
  private task: KeptTask | null = null;
  private over = false;

  constructor(deps: PromotableDeps, head: Open, reply: StreamReply, afterMs: number | null) {
    this.deps = deps;
    this.head = head;
    this.reply = reply;
    this.afterMs = afterMs;
  }

  /** What the exchange below gave; it may have settled before. */
  attach(inner: OpenStream): void {
    this.inner = inner;
    if (this.task !== null) this.goesOn(this.task);
  }

  started(): void {
    this.reply.started();
    this.arm();
  }

  accepted(): void {
    this.reply.accepted();
    this.arm();
  }

  /** A legacy server made a task of it: there is nothing to wait for (protocol.md §5.2 "tasks"). */
  tasked(upstream: TaskedUpstream): void {
    this.promote(upstream);
  }

  event(method: string, members: Uint8Array, seq?: number): void {
    if (this.task === null) this.reply.event(method, members, seq);
  }

  result(head: ResultHead, members: Uint8Array): void {
    if (this.task === null) this.end();
    (this.task ?? this.reply).result(head, members);
  }

  fault(head: FaultHead): void {
    if (this.task === null) this.end();
    (this.task ?? this.reply).fault(head);
  }

  queuedBytes(): number {
    return this.task === null ? this.reply.queuedBytes() : 0;
  }

  vanished(how: 'close' | 'break'): void {
    if (this.task !== null) return;
    this.end();
    this.inner?.vanished(how);
  }

  private end(): void {
    this.over = true;
    this.timer?.clear();
    this.timer = null;
  }

  private arm(): void {
    if (this.afterMs === null || this.over || this.timer !== null || this.task !== null) return;
    if (this.afterMs <= 0) {
      this.promote(null);
      return;
    }
    this.timer = this.deps.clock.setTimer(this.afterMs, () => this.promote(null));
  }

  private promote(upstream: TaskedUpstream | null): void {
    if (this.over || this.task !== null) return;
    const task = this.deps.keep(this.head, upstream);
    if (task === null) return;
    this.end();
    this.task = task;
    this.goesOn(task);
    this.reply.result({ resultType: 'task' }, task.created());
  }

  private goesOn(task: KeptTask): void {
    this.inner?.prolong?.(task.endsAt - this.deps.clock.now());
  }
}
