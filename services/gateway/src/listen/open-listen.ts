// One listen of a modern client from the check of its wish to its end (protocol.md §2.9). Answered as a stream once the
// servers have said what they honour; before that it can still be refused. Ends once, and lets go of all it holds.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpOut } from '../http/contract.ts';
import type { Recording } from '../observe/recorder.ts';
import { refusalOf } from '../route/refuse.ts';
import { Audience, type AudienceDeps } from './audience.ts';
import type { TaskEvents, Wanted } from './contract.ts';
import { ListenStream, type StreamDeps } from './stream.ts';

export interface OpenListenDeps extends AudienceDeps, StreamDeps {
  readonly taskEvents?: TaskEvents | undefined;
}

export interface OpenListenTerms {
  readonly exchange: Exchange;
  readonly out: HttpOut;
  /** The request's id as it stood. */
  readonly idText: string;
  readonly wanted: Wanted;
  readonly taskIds: readonly string[];
  readonly recording: Recording;
  readonly refuse: (refusal: Refusal) => void;
  /** However it ends. */
  readonly over: (listen: OpenListen) => void;
}

export type Ending = 'drained' | 'expired' | 'revoked' | 'gone' | 'too-slow' | 'vanished' | 'failed';

/** Longest time that a timer takes. */
const LONG_MS = 2 ** 31 - 1;
const NO_ASK = { method: 'subscriptions/listen', bytes: new Uint8Array(0), params: [], progress: false } as const;

export class OpenListen {
  readonly audience: Audience;
  private readonly deps: OpenListenDeps;
  private readonly terms: OpenListenTerms;
  private readonly clock: Clock;
  private readonly stream: ListenStream;
  private closeTasks: (() => void) | null = null;
  private timer: Timer | null = null;
  private acknowledged = false;
  private ended = false;

  constructor(deps: OpenListenDeps, terms: OpenListenTerms) {
    this.deps = deps;
    this.terms = terms;
    this.clock = deps.clock;
    this.stream = new ListenStream(terms.idText, deps, () => this.end('too-slow'));
    this.audience = new Audience(deps, terms.exchange, terms.wanted, {
      hear: (news) => {
        if (this.expired()) this.end('expired');
        else this.stream.news(news);
      },
      revoked: () => this.end('revoked'),
      gone: () => this.end('gone'),
    });
  }

  async run(): Promise<void> {
    const { out, exchange, refuse } = this.terms;
    try {
      const [opened, taskIds] = await Promise.all([this.audience.open(), this.watchTasks()]);
      if (this.ended) return this.dropTasks();
      if (opened.kind === 'fault') {
        this.release();
        return refuse(refusalOf(opened.fault, opened.spec, null, exchange, NO_ASK));
      }
      this.acknowledged = true;
      this.stream.acknowledge(out.sse(), opened.honoured, taskIds);
      this.watchExpiry();
    } catch (error) {
      this.end('failed');
      throw error;
    }
  }

  end(why: Ending): void {
    if (this.ended) return;
    this.release();
    const { recording, refuse } = this.terms;
    if (why === 'vanished') this.stream.drop();
    else if (this.acknowledged) this.stream.end();
    else {
      refuse(why === 'failed' ? { reason: 'internal' } : { reason: 'unavailable', retryAfterMs: 1_000 });
      return;
    }
    recording.end({ outcome: why === 'vanished' ? why : 'ok', status: 200, bytesOut: this.stream.bytes });
  }

  private release(): void {
    this.ended = true;
    this.timer?.clear();
    this.audience.close();
    this.dropTasks();
    this.terms.over(this);
  }

  private dropTasks(): void {
    this.closeTasks?.();
    this.closeTasks = null;
  }

  private async watchTasks(): Promise<readonly string[]> {
    const { taskIds, exchange } = this.terms;
    if (taskIds.length === 0 || this.deps.taskEvents === undefined) return [];
    const watched = await this.deps.taskEvents.watch(exchange, taskIds, (id, members) => this.stream.task(id, members));
    this.closeTasks = watched.close;
    return watched.honoured;
  }

  private expired(): boolean {
    const at = this.terms.exchange.caller.expiresAt;
    return at !== null && this.clock.now() >= at;
  }

  private watchExpiry(): void {
    const at = this.terms.exchange.caller.expiresAt;
    if (at === null || this.ended) return;
    this.timer = this.clock.setTimer(Math.min(LONG_MS, Math.max(0, at - this.clock.now())), () => {
      if (this.expired()) this.end('expired');
      else this.watchExpiry();
    });
  }
}
