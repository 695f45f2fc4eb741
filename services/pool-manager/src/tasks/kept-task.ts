// A task that this node keeps itself (design §4 amendment 9): a call that goes on without its client's connection. To
// the exchange below it is just the caller: it takes the questions, hands in the answers, and hears the end once.

import { concat } from '@lockkeeper/protocol/json/compose';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Dispatcher, StreamReply } from '../link/contract.ts';
import type { FaultHead, ResultHead } from '../raise/contract.ts';
import { responsesText, TaskInputs } from './task-inputs.ts';
import { inlinedResult, type TaskStatus, taskMembers } from './task-text.ts';

export interface KeptTaskDeps {
  readonly inner: Pick<Dispatcher, 'open' | 'cancel'>;
  readonly clock: Clock;
  /** Its state is another than before; `over`: for the last time. */
  changed(task: KeptTask): void;
}

export interface KeptTaskStart {
  readonly head: Open;
  /** Params members of the call. */
  readonly body: Uint8Array;
  readonly id: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly statusMessage?: string;
}

export class KeptTask implements StreamReply {
  readonly head: Open;
  readonly id: string;
  readonly endsAt: number;
  private readonly deps: KeptTaskDeps;
  private readonly start: KeptTaskStart;
  private readonly inputs = new TaskInputs();
  private readonly createdAt: number;
  private readonly timer: Timer;
  private body: Uint8Array;
  private updatedAt: number;
  private state: string | undefined;
  /** Somebody holds the questions below, so answers may come one by one. */
  private held = false;
  /** Waits below for the call to go on: answers that come meanwhile wait here. */
  private busy = true;
  private waiting = new Map<string, Uint8Array>();
  private status: TaskStatus = 'working';
  private ending: Uint8Array | null = null;

  constructor(deps: KeptTaskDeps, start: KeptTaskStart) {
    this.deps = deps;
    this.start = start;
    this.head = start.head;
    this.id = start.id;
    // The line it points into may be large, and it stays as long as the task.
    this.body = start.body.slice();
    this.createdAt = deps.clock.now();
    this.updatedAt = this.createdAt;
    this.endsAt = this.createdAt + start.ttlMs;
    this.timer = deps.clock.setTimer(start.ttlMs, () => this.expire());
  }

  get over(): boolean {
    return this.ending !== null;
  }

  /** Bytes of its end. */
  get size(): number {
    return this.ending?.length ?? 0;
  }

  /** Its end is elsewhere now. */
  forget(): void {
    this.ending = NOTHING;
  }

  /** Nobody can keep its end. */
  tooLarge(): void {
    const message = 'the result is larger than can be kept for a task';
    this.ending = this.failed({ reason: 'too-large', code: -32603, message, mayHaveRun: true });
  }

  /** DetailedTask as it is now. */
  members(): Uint8Array {
    const base = taskMembers({ ...this.start, ...this.facts() });
    if (this.ending !== null) return this.ending;
    return this.status === 'input_required' ? concat([base, ',', this.inputs.members()]) : Buffer.from(base);
  }

  /** What answers the call: no payload, whatever has happened meanwhile (ext-tasks CreateTaskResult). */
  created(): Uint8Array {
    return Buffer.from(taskMembers({ ...this.start, ...this.facts(), status: 'working' }));
  }

  /** `params` of tasks/update, with what the client can do now. */
  update(params: Uint8Array, head: Open): void {
    if (this.over) return;
    const taken = this.inputs.take(params);
    if (taken.size === 0) return;
    for (const [key, value] of taken) this.waiting.set(key, value);
    if (this.inputs.size === 0) this.turn('working');
    else this.deps.changed(this);
    this.handIn(head);
  }

  /** Final at once: a late result is nobody's (protocol.md Part 7 #39). */
  cancel(reason: string): void {
    if (this.over) return;
    this.finish('cancelled', null, reason);
    const { xid, principal, session } = this.head;
    this.deps.inner.cancel({ kind: 'cancel', xid, principal, session, reason });
  }

  started(): void {}
  accepted(): void {}
  /** Progress and log messages are not sent for tasks (ext-tasks). */
  event(): void {}
  queuedBytes(): number {
    return 0;
  }

  result(head: ResultHead, members: Uint8Array): void {
    if (this.over) return;
    switch (head.resultType) {
      case 'input_required':
        this.asked(head, members);
        return;
      case 'task':
        // The server made a task of it after all; that one lives on under the same handle (tasks.ts `adopt`).
        this.leave();
        return;
      default:
        this.finish('completed', inlinedResult(members, head.meta));
    }
  }

  /** The gateway says what a fault is to the caller: a result with isError, or an error (design §8). */
  fault(head: FaultHead): void {
    if (this.over) return;
    if (head.reason === 'cancelled') this.finish('cancelled', null, head.message);
    else this.finish('failed', faultText(head), head.message);
  }

  /** Something else goes on under its handle. */
  leave(): void {
    this.timer.clear();
    this.ending ??= NOTHING;
  }

  private asked(head: ResultHead, members: Uint8Array): void {
    this.state = head.state;
    this.held = head.origin?.asked !== undefined;
    this.busy = false;
    this.inputs.replace(members, head.origin?.asked);
    if (!this.held) this.waiting.clear();
    if (this.inputs.size === 0) {
      // A state alone, or everything withdrawn: nothing to wait for (protocol.md §2.8 #14).
      this.turn('working');
      this.continue(this.head);
    } else this.turn('input_required');
    this.handIn(this.head);
  }

  /** A modern server holds nothing: it is called again once, with all of a round's answers. */
  private handIn(head: Open): void {
    if (this.busy || this.waiting.size === 0 || (!this.held && this.inputs.size > 0)) return;
    this.continue(head);
  }

  private continue(head: Open): void {
    const answers = this.waiting;
    this.waiting = new Map();
    this.busy = true;
    const { wait: _wait, fromSeq: _from, state: _old, ...own } = this.head;
    const next: Open = {
      ...own,
      capabilities: head.capabilities,
      onVanish: 'keep',
      deadlineMs: Math.max(1, this.endsAt - this.deps.clock.now()),
      ...(this.state === undefined ? {} : { state: this.state }),
    };
    const parts: (Uint8Array | string)[] = [this.body];
    if (answers.size > 0) parts.push(this.body.length === 0 ? '' : ',', responsesText(answers));
    const stream = this.deps.inner.open(next, concat(parts), this);
    stream.prolong?.(next.deadlineMs);
  }

  private turn(status: TaskStatus): void {
    this.status = status;
    this.updatedAt = this.deps.clock.now();
    this.deps.changed(this);
  }

  private finish(status: TaskStatus, payload: Uint8Array | null, words?: string): void {
    this.timer.clear();
    this.inputs.clear();
    this.waiting.clear();
    this.body = new Uint8Array(0);
    this.status = status;
    this.updatedAt = this.deps.clock.now();
    const said = words === undefined ? {} : { statusMessage: words };
    const base = taskMembers({ ...this.start, ...this.facts(), ...said });
    this.ending = payload === null ? Buffer.from(base) : concat([base, ',', payload]);
    this.deps.changed(this);
  }

  private failed(fault: FaultHead): Uint8Array {
    const base = taskMembers({ ...this.start, ...this.facts(), status: 'failed', statusMessage: fault.message });
    return concat([base, ',', faultText(fault)]);
  }

  private expire(): void {
    if (this.over) return;
    const { xid, principal, session } = this.head;
    const message = 'the task did not end within its time to live';
    this.fault({ reason: 'timeout', code: -32603, message, mayHaveRun: true });
    this.deps.inner.cancel({ kind: 'cancel', xid, principal, session, reason: message });
  }

  private facts() {
    return { status: this.status, createdAt: this.createdAt, updatedAt: this.updatedAt };
  }
}

const NOTHING = new Uint8Array(0);

function faultText(head: FaultHead): Uint8Array {
  return Buffer.from(`"lk/fault":${JSON.stringify(head)}`);
}
