// A task that this node keeps itself (design §4 amendment 9): a call that goes on without its client's connection. To
// the exchange below it is just the caller: it takes the questions, hands in the answers, and hears the end once.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { concat } from '@lockkeeper/protocol/json/compose';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { faultOf } from '../errors.ts';
import type { Dispatcher, OpenStream, StreamReply } from '../link/contract.ts';
import { withoutAnswers } from '../raise/answers.ts';
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
  private answers = new Map<string, Uint8Array>();
  private listening = false;
  private pause: Timer | null = null;
  /** Of a call that nobody holds. */
  private stream: OpenStream | null = null;
  private status: TaskStatus = 'working';
  private ending: Uint8Array | null = null;

  constructor(deps: KeptTaskDeps, start: KeptTaskStart) {
    this.deps = deps;
    this.start = start;
    this.head = start.head;
    this.id = start.id;
    // The line it points into may be large, and it stays as long as the task.
    this.body = copyOf(withoutAnswers(start.body));
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
    for (const [key, value] of taken) this.answers.set(key, value);
    if (this.inputs.size === 0) this.turn('working');
    else this.deps.changed(this);
    this.handIn(head);
  }

  /** Final at once: a late result is nobody's (protocol.md Part 7 #39). */
  cancel(reason: string): void {
    if (this.over) return;
    this.finish('cancelled', null, reason);
    this.stop(reason);
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
    if (head.reason === 'unknown-exchange') this.fault(faultOf('lost', { mayHaveRun: true }));
    else if (head.reason === 'cancelled') this.finish('cancelled', null, head.message);
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
    this.inputs.replace(members, head.origin?.asked);
    if (this.inputs.size > 0) this.turn('input_required');
    else if (this.status !== 'working') this.turn('working');
    if (this.held) this.listen();
    // A state alone: there is nobody to ask, so the server is asked again (protocol.md §2.8 #14).
    else if (this.inputs.size === 0) this.later(() => this.handIn(this.head));
  }

  /** Answers on their way down: one by one where someone holds the questions, else all of a round with the next call. */
  private handIn(head: Open): void {
    if (!this.held && this.inputs.size > 0) return;
    const answers = this.answers;
    if (this.held && answers.size === 0) return;
    this.answers = new Map();
    const parts: (Uint8Array | string)[] = [this.body];
    if (answers.size > 0) parts.push(this.body.length === 0 ? '' : ',', responsesText(answers));
    // Nobody holds the call: it must end with the one that made it.
    const next: Open = { ...this.next(head), onVanish: this.held ? 'keep' : 'cancel' };
    const reply = this.held ? this.courier() : this;
    const stream = this.deps.inner.open(next, concat(parts), reply);
    if (!this.held) this.stream = stream;
    stream.prolong?.(next.deadlineMs);
  }

  /** Hears of what is asked anew or withdrawn, of the end, and of questions that nobody answered in time. */
  private listen(): void {
    if (this.listening || this.over) return;
    this.listening = true;
    const { state } = this;
    this.deps.inner.open({ ...this.next(this.head), wait: true, onVanish: 'keep' }, this.body, {
      ...this.courier(),
      result: (head, members) => {
        this.listening = false;
        // The same once more would be told for ever.
        if (head.resultType === 'input_required' && head.state === state) this.later(() => this.result(head, members));
        else this.result(head, members);
      },
      fault: (head) => {
        this.listening = false;
        this.fault(head);
      },
    });
  }

  /** For a stream that only brings answers: the listening one hears how it goes on. */
  private courier(): StreamReply {
    return {
      started: () => {},
      accepted: () => {},
      event: () => {},
      queuedBytes: () => 0,
      result: (head, members) => this.result(head, members),
      fault: () => this.askAgain(),
    };
  }

  /** The answers could not be taken: what is open is asked for anew. */
  private askAgain(): void {
    if (this.over) return;
    const { state: _state, ...next } = this.next(this.head);
    this.deps.inner.open({ ...next, wait: true, onVanish: 'keep' }, this.body, {
      ...this.courier(),
      fault: (head) => this.fault(head),
    });
  }

  private later(run: () => void): void {
    this.pause?.clear();
    this.pause = this.deps.clock.setTimer(PAUSE_MS, run);
  }

  private next(head: Open): Open {
    const { wait: _wait, fromSeq: _from, state: _old, ...own } = this.head;
    return {
      ...own,
      capabilities: head.capabilities,
      deadlineMs: Math.max(1, this.endsAt - this.deps.clock.now()),
      ...(this.state === undefined ? {} : { state: this.state }),
    };
  }

  private turn(status: TaskStatus): void {
    this.status = status;
    this.updatedAt = this.deps.clock.now();
    this.deps.changed(this);
  }

  private finish(status: TaskStatus, payload: Uint8Array | null, words?: string): void {
    this.timer.clear();
    this.pause?.clear();
    this.inputs.clear();
    this.answers.clear();
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
    const message = 'the task did not end within its time to live';
    this.fault({ reason: 'timeout', code: -32603, message, mayHaveRun: true });
    this.stop(message);
  }

  /** Whatever still works on it. */
  private stop(reason: string): void {
    const { xid, principal, session } = this.head;
    this.deps.inner.cancel({ kind: 'cancel', xid, principal, session, reason });
    this.stream?.vanished('close');
    this.stream = null;
  }

  private facts() {
    return { status: this.status, createdAt: this.createdAt, updatedAt: this.updatedAt };
  }
}

const PAUSE_MS = 1_000;
const NOTHING = new Uint8Array(0);

function faultText(head: FaultHead): Uint8Array {
  return Buffer.from(`"lk/fault":${JSON.stringify(head)}`);
}
