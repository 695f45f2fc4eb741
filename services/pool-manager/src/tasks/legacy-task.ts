// Waits for a task that a 2025-11-25 server made of a call (protocol.md §1.10, §5.2): `tasks/result` in the background,
// which brings the very answer the call would have had and on whose way the server asks its questions; and `tasks/get`
// now and then, for servers whose `tasks/result` does not wait. To everyone else it is a call that takes long.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { findMember, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { ExitReason } from '../child/contract.ts';
import type { Response } from '../raise/wire/message.ts';
import type { Waiter, Wire } from '../raise/wire/wire.ts';

export interface LegacyTaskSeed {
  readonly taskId: string;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number | null;
  readonly statusMessage?: string;
}

export interface LegacyTaskHost {
  readonly wire: Wire;
  readonly clock: Clock;
  /** The call's own answer. */
  answered(line: Uint8Array, response: Response): void;
  spoiled(kind: 'protocol' | 'too-large', words: string): void;
  lost(exit: ExitReason): void;
  /** It works: the call lives (protocol.md §4.7). */
  progressed(): void;
}

const MIN_POLL_MS = 250;
const MAX_POLL_MS = 30_000;
const DEFAULT_POLL_MS = 1_000;
/** Ended, says the server: then its result must come soon. */
const RESULT_MS = 10_000;
/** Asked again so often by us, where the server does not wait. */
const MAX_RESULTS = 3;

/** The `task` of a result that makes one; null: an answer like any other. */
export function seedOf(line: Uint8Array, result: readonly Member[]): LegacyTaskSeed | null {
  const task = findMember(result, 'task');
  if (task?.kind !== 'object') return null;
  const members = membersOf(line, task);
  const taskId = stringOf(line, findMember(members, 'taskId'));
  if (taskId === undefined) return null;
  const words = stringOf(line, findMember(members, 'statusMessage'));
  return {
    taskId,
    ttlMs: positive(line, findMember(members, 'ttl')),
    pollIntervalMs: positive(line, findMember(members, 'pollInterval')),
    ...(words === undefined ? {} : { statusMessage: words }),
  };
}

function positive(line: Uint8Array, member: Member | undefined): number | null {
  const value = member?.kind === 'number' ? Number(textOf(line, member)) : 0;
  return Number.isSafeInteger(value) && value > 0 ? value : null;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export class LegacyTask {
  private readonly host: LegacyTaskHost;
  private readonly seed: LegacyTaskSeed;
  private readonly params: Uint8Array;
  private timer: Timer | null = null;
  private resultId = 0;
  private results = 0;
  private ended = false;
  private over = false;
  /** An error that may be the call's own, or mean "not yet". */
  private doubt: { readonly line: Uint8Array; readonly response: Response } | null = null;

  constructor(host: LegacyTaskHost, seed: LegacyTaskSeed) {
    this.host = host;
    this.seed = seed;
    this.params = Buffer.from(`"taskId":${JSON.stringify(seed.taskId)}`);
  }

  begin(): void {
    this.fetch();
    this.pollLater();
  }

  /** Whether this request is the one on whose way its server asks. */
  owns(id: number): boolean {
    return id === this.resultId;
  }

  /** tasks/cancel, whose refusal is as good as its answer (protocol.md §5.2 "tasks/cancel"). */
  cancel(words: string): void {
    if (this.over) return;
    this.stop();
    const nobody: Waiter = { answered: () => {}, spoiled: () => {}, lost: () => {} };
    this.host.wire.request('tasks/cancel', () => '', this.params, nobody);
    this.host.wire.abandon(this.resultId, words);
  }

  private fetch(): void {
    this.results++;
    this.resultId = this.ask('tasks/result', (line, response) => {
      this.resultId = 0;
      if (response.error === undefined || this.ended || this.results >= MAX_RESULTS) return this.settle(line, response);
      this.doubt = { line: copyOf(line), response };
      this.poll();
    });
  }

  private poll(): void {
    this.timer?.clear();
    this.timer = null;
    this.ask('tasks/get', (line, { resultMembers, error }) => {
      if (this.over) return;
      const status = error === undefined ? stringOf(line, findMember(resultMembers, 'status')) : undefined;
      // It knows the task no more, or never answers about it: what it said last counts.
      if (status === undefined) return this.doubt === null ? this.pollLater() : this.believe();
      this.host.progressed();
      if (!ENDED.has(status)) {
        this.doubt = null;
        return this.pollLater();
      }
      this.ended = true;
      if (this.doubt !== null) return this.believe();
      if (this.resultId === 0) this.fetch();
      this.timer = this.host.clock.setTimer(RESULT_MS, () => this.silent());
    });
  }

  private believe(): void {
    const { doubt } = this;
    if (doubt !== null) this.settle(doubt.line, doubt.response);
  }

  private pollLater(): void {
    if (this.over || this.timer !== null) return;
    const ms = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, this.seed.pollIntervalMs ?? DEFAULT_POLL_MS));
    this.timer = this.host.clock.setTimer(ms, () => {
      if (this.resultId === 0 && this.results < MAX_RESULTS && this.ended) this.fetch();
      this.poll();
    });
  }

  private silent(): void {
    if (this.over) return;
    this.stop();
    this.host.wire.abandon(this.resultId, null);
    this.host.spoiled('protocol', 'its task has ended, but tasks/result does not answer');
  }

  private settle(line: Uint8Array, response: Response): void {
    if (this.over) return;
    this.stop();
    this.host.answered(line, response);
  }

  private stop(): void {
    this.over = true;
    this.timer?.clear();
    this.timer = null;
  }

  private ask(method: string, answered: Waiter['answered']): number {
    const { wire } = this.host;
    const id = wire.request(method, () => '', this.params, {
      answered: (line, response) => {
        if (!this.over) answered(line, response);
      },
      spoiled: (kind, words) => {
        if (this.over) return;
        this.stop();
        this.host.spoiled(kind, words);
      },
      lost: (exit) => {
        if (this.over) return;
        this.stop();
        this.host.lost(exit);
      },
    });
    if (id === 0 && !this.over) {
      this.stop();
      const { exited } = wire;
      if (exited !== null) this.host.lost(exited);
      else this.host.spoiled('protocol', 'the server does not read its input');
    }
    return id;
  }
}
