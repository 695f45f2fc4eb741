// A task of a modern server (protocol.md §5.1 "tasks"): its process is kept as long as the task is open (design §5
// "Obligations"), requests about it go to that process under the server's own id, and now and then the node asks for
// itself, so that listeners hear of changes and a process is not kept for a task that has ended.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { concat } from '@lockkeeper/protocol/json/compose';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { faultOf } from '../errors.ts';
import type { StreamReply } from '../link/contract.ts';
import type { Lease } from '../pool/contract.ts';
import type { FaultHead, UpstreamReply } from '../raise/contract.ts';
import { readUpstreamTask, TERMINAL, taskMembers, type UpstreamTaskText } from './task-text.ts';

export interface UpstreamTaskDeps {
  readonly clock: Clock;
  changed(task: UpstreamTask): void;
}

export interface UpstreamTaskStart {
  readonly head: Open;
  readonly id: string;
  readonly ttlMs: number;
  readonly lease: Lease;
  readonly text: UpstreamTaskText;
}

const MIN_POLL_MS = 500;
const MAX_POLL_MS = 30_000;
const DEFAULT_POLL_MS = 5_000;
const ASK_MS = 30_000;

export class UpstreamTask {
  readonly head: Open;
  readonly id: string;
  readonly endsAt: number;
  readonly upstreamId: string;
  private readonly deps: UpstreamTaskDeps;
  private readonly start: UpstreamTaskStart;
  private readonly createdAt: number;
  private readonly deadline: Timer;
  private poll: Timer | null = null;
  private known: UpstreamTaskText;
  private ending: Uint8Array | null = null;

  constructor(deps: UpstreamTaskDeps, start: UpstreamTaskStart) {
    this.deps = deps;
    this.start = start;
    this.head = start.head;
    this.id = start.id;
    this.upstreamId = start.text.upstreamId;
    this.known = start.text;
    this.createdAt = deps.clock.now();
    this.endsAt = this.createdAt + start.ttlMs;
    this.deadline = deps.clock.setTimer(start.ttlMs, () => this.expire());
    void start.lease.connection.closed.then((exit) => this.lost(exit.words));
    this.pollLater();
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
    this.ending = new Uint8Array(0);
  }

  /** Nobody can keep its end. */
  tooLarge(): void {
    this.ending = this.failedWith(
      faultOf('too-large', { message: 'the result is larger than can be kept for a task' }),
    );
  }

  members(): Uint8Array {
    return this.ending ?? this.known.members;
  }

  get(reply: StreamReply, head: Open): void {
    if (this.ending !== null) {
      reply.result({ resultType: 'complete' }, this.ending);
      return;
    }
    this.ask('tasks/get', '', head, {
      ...passing(reply),
      result: (_result, members) => {
        const text = this.learn(members);
        if (typeof text === 'string') reply.fault(faultOf('protocol', { message: text }));
        else reply.result({ resultType: 'complete' }, this.ending ?? text.members);
      },
    });
  }

  /** Acknowledged by the server itself, which may judge the answers. */
  update(reply: StreamReply, params: Uint8Array, head: Open): void {
    this.tell('tasks/update', reply, params, head);
  }

  cancel(reply: StreamReply, head: Open): void {
    this.tell('tasks/cancel', reply, '', head);
  }

  /** The node ends, or its configuration was taken away. */
  lost(words: string): void {
    if (this.over) return;
    const fault = faultOf('lost', { message: `the server was lost while it worked: ${words}`, mayHaveRun: true });
    this.finish(this.failedWith(fault));
  }

  private tell(method: string, reply: StreamReply, params: Uint8Array | string, head: Open): void {
    if (this.over) {
      reply.result({ resultType: 'complete' }, new Uint8Array(0));
      return;
    }
    this.ask(method, params, head, {
      ...passing(reply),
      result: () => {
        reply.result({ resultType: 'complete' }, new Uint8Array(0));
        this.look();
      },
      fault: (fault) => {
        // It ended meanwhile: an acknowledgement all the same (ext-tasks "idempotent").
        if (method === 'tasks/cancel' && fault.reason === 'upstream') {
          reply.result({ resultType: 'complete' }, new Uint8Array(0));
        } else reply.fault(fault);
        this.look();
      },
    });
  }

  private ask(method: string, params: Uint8Array | string, head: Open, reply: UpstreamReply): void {
    const { state: _state, wait: _wait, fromSeq: _from, meta: _meta, ...own } = this.head;
    const next: Open = { ...own, xid: head.xid, method, name: this.upstreamId, capabilities: head.capabilities };
    const body = concat([`"taskId":${JSON.stringify(this.upstreamId)}`, params.length === 0 ? '' : ',', params]);
    let timer: Timer | null = null;
    const settle = <A extends unknown[]>(then: (...args: A) => void) => {
      return (...args: A) => {
        timer?.clear();
        then(...args);
      };
    };
    const call = this.start.lease.connection.call(next, body, {
      ...reply,
      result: settle(reply.result),
      fault: settle(reply.fault),
    });
    timer = this.deps.clock.setTimer(ASK_MS, () => call.cancel('the server did not answer in time'));
  }

  /** For the node itself: what is new is told to whoever listens. */
  private look(): void {
    this.poll?.clear();
    this.poll = null;
    if (this.over) return;
    this.ask('tasks/get', '', this.head, {
      started: () => {},
      event: () => {},
      result: (_head, members) => {
        const text = this.learn(members);
        if (typeof text !== 'string' || !this.over) this.pollLater();
      },
      fault: (fault) => {
        // It does not know it any more: that is how the server lets it expire.
        if (fault.reason === 'upstream' && fault.code === -32602) this.finish(this.failedWith(fault));
        else this.pollLater();
      },
    });
  }

  private learn(members: Uint8Array): UpstreamTaskText | string {
    const text = readUpstreamTask(members, this.id, this.start.ttlMs, true);
    if (typeof text === 'string' || this.over) return text;
    const before = this.known;
    this.known = { ...text, members: copyOf(text.members) };
    if (TERMINAL.has(text.status)) this.finish(this.known.members);
    else if (text.status !== before.status || !Buffer.from(text.members).equals(before.members))
      this.deps.changed(this);
    return text;
  }

  private finish(members: Uint8Array): void {
    this.ending = members;
    this.poll?.clear();
    this.deadline.clear();
    this.start.lease.release();
    this.deps.changed(this);
  }

  private failedWith(fault: FaultHead): Uint8Array {
    const base = taskMembers({
      id: this.id,
      status: 'failed',
      statusMessage: fault.message,
      createdAt: this.createdAt,
      updatedAt: this.deps.clock.now(),
      ttlMs: this.start.ttlMs,
      pollIntervalMs: this.known.pollIntervalMs ?? DEFAULT_POLL_MS,
    });
    return Buffer.from(`${base},"lk/fault":${JSON.stringify(fault)}`);
  }

  private expire(): void {
    if (this.over) return;
    const nobody: UpstreamReply = { started: () => {}, event: () => {}, result: () => {}, fault: () => {} };
    this.ask('tasks/cancel', '', this.head, nobody);
    this.finish(this.failedWith(faultOf('timeout', { message: 'the task did not end within its time to live' })));
  }

  private pollLater(): void {
    if (this.over || this.poll !== null) return;
    const wanted = this.known.pollIntervalMs ?? DEFAULT_POLL_MS;
    const ms = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, wanted));
    this.poll = this.deps.clock.setTimer(ms, () => this.look());
  }
}

function passing(reply: StreamReply): UpstreamReply {
  return {
    started: () => reply.started(),
    event: () => {},
    result: () => {},
    fault: (head) => reply.fault(head),
  };
}
