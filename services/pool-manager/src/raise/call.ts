// One call on one connection: one request upstream, or as many as a list has pages. It is settled exactly once, by its
// answer, by a spoiled one, by the child's end, or by its caller's cancel.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, scan, textOf } from '@lockkeeper/protocol/json/scan';
import { NO_BODY, type Open } from '@lockkeeper/protocol/link/frames';
import { isLogLevel, PROGRESS_TOKEN, passesLevel } from '@lockkeeper/protocol/mcp/meta';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason, RequestFailure } from '../child/contract.ts';
import { LegacyTask, type LegacyTaskSeed } from '../tasks/legacy-task.ts';
import type { Log, UpstreamCall, UpstreamReply } from './contract.ts';
import { failedCall } from './result/failed-call.ts';
import { breach, fault, type Outcome } from './result/outcome.ts';
import { Pages } from './result/pages.ts';
import { keep, vendorMeta, withMembers } from './result/split.ts';
import type { Speaker } from './speaker.ts';
import type { Turn } from './wire/line-up.ts';
import type { Response } from './wire/message.ts';
import type { Waiter, Wire } from './wire/wire.ts';

export interface CallOwner {
  readonly wire: Wire;
  readonly speaker: Speaker;
  readonly log: Log;
  readonly clock: Clock;
  maxResultBytes(): number;
  settled(call: Call): void;
  parked(call: Call, parked: boolean): void;
}

export class Call implements UpstreamCall, Waiter {
  readonly head: Open;
  private readonly owner: CallOwner;
  private members: Uint8Array;
  private readonly reply: UpstreamReply;
  private readonly pages: Pages | null;
  private cursor: string | null = null;
  /** Stands in line. */
  private turn: Turn | null = null;
  private id = 0;
  private task: LegacyTask | null = null;
  private retried = false;
  private done = false;
  parked = false;
  private lastProgress = Number.NEGATIVE_INFINITY;

  constructor(owner: CallOwner, head: Open, members: Uint8Array, reply: UpstreamReply, list: boolean) {
    this.owner = owner;
    this.head = head;
    this.reply = reply;
    this.members = list ? withoutCursor(members) : members;
    this.pages = list ? this.freshPages() : null;
  }

  send(): void {
    const { wire, speaker } = this.owner;
    const base = speaker.params(this.head, this.members);
    const params = this.cursor === null ? base : withMembers(base, `"cursor":${this.cursor}`);
    this.turn = {
      bytes: params.length,
      principal: this.head.principal,
      go: () => this.go(params),
      refuse: (words) => this.refused(words),
    };
    wire.enter(this.turn);
  }

  private go(params: Uint8Array): void {
    const { wire, speaker } = this.owner;
    this.turn = null;
    const mayHaveRun = this.cursor !== null;
    if (wire.exited !== null) {
      this.settle(fault('lost', `the server has ended: ${wire.exited.words}`, { mayHaveRun }));
      return;
    }
    this.reply.started();
    this.id = wire.request(this.head.method, (id) => speaker.meta(this.head, id), params, this);
    if (this.id === 0) this.refused('the server does not read its input');
  }

  private refused(words: string): void {
    this.turn = null;
    this.settle(fault('busy', words, { mayHaveRun: this.cursor !== null }));
  }

  cancel(reason: string): void {
    if (this.done) return;
    const { turn } = this;
    this.turn = null;
    if (this.task !== null) this.task.cancel(reason);
    else if (turn === null || !this.owner.wire.leave(turn)) this.owner.wire.abandon(this.id, reason);
    this.settle(fault('cancelled', reason));
  }

  park(): void {
    // It was sent; what it waits for may take long, and the message it came in may be large.
    if (this.pages === null) this.members = NO_BODY;
    this.owner.parked(this, true);
  }

  resume(): void {
    this.owner.parked(this, false);
  }

  answered(line: Uint8Array, response: Response): void {
    try {
      this.judge(line, response);
    } catch (error) {
      this.owner.log.warn({ err: error, method: this.head.method }, 'an answer could not be judged');
      this.settle(fault('internal', 'the answer could not be read'));
    }
  }

  progressed(line: Uint8Array, params: readonly Member[]): void {
    this.reply.progressed?.();
    if (!this.head.progress) return;
    const member = findMember(params, 'progress');
    const value = member?.kind === 'number' ? Number(textOf(line, member)) : Number.NaN;
    // Strictly rising; what does not rise is dropped (protocol.md §4.7).
    if (!(value > this.lastProgress)) return;
    this.lastProgress = value;
    this.reply.event('notifications/progress', eventMembers(line, params));
  }

  /** A log message that is this call's; below the wanted level it goes nowhere. */
  logged(line: Uint8Array, params: readonly Member[]): void {
    const level = findMember(params, 'level');
    const name = level?.kind === 'string' ? textOf(line, { start: level.start + 1, end: level.end - 1 }) : '';
    if (this.head.logLevel === undefined || !isLogLevel(name) || !passesLevel(name, this.head.logLevel)) return;
    this.reply.event('notifications/message', eventMembers(line, params));
  }

  spoiled(kind: 'protocol' | 'too-large', words: string): void {
    this.settle(fault(kind, words));
  }

  lost(exit: ExitReason): void {
    // Ended by us: the reason is our own words, and the caller may read it.
    const lead = exit.kind === 'stopped' ? 'it was ended' : 'the server ended during the call';
    this.settle(fault('lost', `${lead}: ${exit.words}`));
  }

  failed(failure: RequestFailure): void {
    const { server, method } = this.head;
    this.owner.log.warn({ server, method, why: failure.words }, 'a request got no answer');
    const outcome = failedCall(server, failure);
    // Once the end of its session is heard of, nothing is begun on it again.
    if (failure.kind === 'session') void this.owner.wire.closed.then(() => this.settle(outcome));
    else this.settle(outcome);
  }

  /** The request under which it waits now; of a task it made, the one that brings its answer. */
  owns(id: number): boolean {
    return id === this.id || this.task?.owns(id) === true;
  }

  settle(outcome: Outcome): void {
    if (this.done) return;
    this.done = true;
    this.owner.settled(this);
    if (outcome.kind === 'fault') {
      this.reply.fault(outcome.head);
      return;
    }
    if (outcome.kind === 'visits') {
      if (this.reply.visitFirst !== undefined) this.reply.visitFirst(outcome.visits, outcome.head);
      else this.reply.fault(outcome.head);
      return;
    }
    if (outcome.members.length <= this.owner.maxResultBytes()) {
      this.reply.result(outcome.head, outcome.members);
      return;
    }
    this.reply.fault({
      reason: 'too-large',
      code: -32603,
      message: `the answer has ${outcome.members.length} bytes, more than limits.maxResultBytes allows`,
      mayHaveRun: true,
    });
  }

  private judge(line: Uint8Array, response: Response): void {
    const judged = this.owner.speaker.judge(this.head, line, response);
    switch (judged.kind) {
      case 'outcome':
        this.settle(judged.outcome);
        return;
      case 'again':
        this.again(judged.after);
        return;
      case 'task':
        if (this.task === null) this.follow(judged.seed);
        else this.settle(breach('a task ended in another task'));
        return;
      case 'complete':
        if (this.pages !== null) {
          this.page(line, response.resultMembers, this.pages);
          return;
        }
        this.settle(this.owner.speaker.finish(this.head, line, response.resultMembers));
        return;
    }
  }

  /** The call goes on as the server's task, and is answered as if it had not. */
  private follow(seed: LegacyTaskSeed): void {
    const { wire, clock } = this.owner;
    this.task = new LegacyTask(
      {
        wire,
        clock,
        answered: (line, response) => this.answered(line, response),
        spoiled: (kind, words) => this.spoiled(kind, words),
        lost: (exit) => this.lost(exit),
        progressed: () => this.reply.progressed?.(),
      },
      seed,
    );
    this.reply.tasked?.(seed);
    this.task.begin();
  }

  private again(after: Promise<void> | undefined): void {
    if (this.retried) {
      this.settle(breach('the server refuses the request also in the form that it asked for'));
      return;
    }
    this.retried = true;
    if (after === undefined) this.send();
    else void after.then(() => this.done || this.send());
  }

  private page(line: Uint8Array, members: readonly Member[], pages: Pages): void {
    const step = pages.add(line, members);
    switch (step.kind) {
      case 'next':
        this.cursor = step.cursor;
        this.send();
        return;
      case 'bad':
        this.settle(breach(step.why));
        return;
      case 'too-large':
        this.settle(fault('too-large', 'the list is longer than limits.maxResultBytes allows'));
        return;
      case 'done': {
        if (step.cut !== null) {
          this.owner.log.warn({ server: this.head.server, method: this.head.method, why: step.cut }, 'list ends early');
        }
        const meta = pages.meta();
        const head = { resultType: 'complete', ...(meta === undefined ? {} : { meta }) };
        this.settle({ kind: 'result', head, members: pages.members() });
        return;
      }
    }
  }

  private freshPages(): Pages {
    const { speaker } = this.owner;
    return new Pages({
      method: this.head.method,
      caching: speaker.caching,
      legacy: speaker.profile().era === 'legacy',
      maxBytes: this.owner.maxResultBytes(),
    });
  }
}

/** Params of a notification without its token; `_meta` keeps its vendor members. */
function eventMembers(line: Uint8Array, params: readonly Member[]): Uint8Array {
  const rest = keep(line, params, (key) => key === PROGRESS_TOKEN || key === '_meta');
  const vendor = vendorMeta(line, params);
  return vendor === undefined ? rest : withMembers(rest, `"_meta":{${vendor}}`);
}

/** The node follows the pages itself; a cursor of the gateway's means nothing upstream. */
function withoutCursor(members: Uint8Array): Uint8Array {
  if (members.length === 0) return members;
  const object = concat(['{', members, '}']);
  return keep(object, scan(object).members, (key) => key === 'cursor');
}
