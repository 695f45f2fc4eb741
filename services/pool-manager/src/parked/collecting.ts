// Questions whose answers go nowhere one by one, but together with the next call: those of a modern server to a legacy
// caller (protocol.md §5.3, spent with the server's exact state) and the visits of a -32042 (§5.2, then the same call
// again). The same URL is not asked for twice: who has opened it is not asked again, the server is, with back-off.

import { concat } from '@lockkeeper/protocol/json/compose';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Asked, Settled } from './asked.ts';

export interface Wanted {
  readonly key: string;
  readonly asked: Pick<Asked, 'method' | 'params' | 'schema' | 'url' | 'elicitationId'>;
}

export interface CollectingHost {
  ask(asked: readonly Asked[]): void;
  /** All of them are there; `responses` is the text of `inputResponses`' object, null where nothing was asked. */
  spend(responses: Uint8Array | null): void;
  /** A refusal that modern answers have no word for (design §4). */
  refused(): void;
  /** The server wants the same again and again. */
  exhausted(): void;
}

export interface CollectingTimings {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Rounds without a question, one after another. */
  readonly maxEmpty: number;
  readonly totalMs: number;
}

export const COLLECTING_TIMINGS: CollectingTimings = { firstMs: 500, mostMs: 10_000, maxEmpty: 8, totalMs: 600_000 };

const ACCEPTED = Buffer.from('{"action":"accept"}');

export class Collecting {
  private readonly host: CollectingHost;
  private readonly clock: Clock;
  private readonly timings: CollectingTimings;
  private readonly opened = new Set<string>();
  private readonly ids = new Set<string>();
  private answers = new Map<string, Uint8Array>();
  private missing = 0;
  private timer: Timer | null = null;
  private later: (() => void) | null = null;
  private repeats = 0;
  private empties = 0;
  private since: number | null = null;
  private over = false;

  constructor(host: CollectingHost, clock: Clock, timings: CollectingTimings = COLLECTING_TIMINGS) {
    this.host = host;
    this.clock = clock;
    this.timings = timings;
  }

  /** What the server wants now. */
  round(wanted: readonly Wanted[]): void {
    this.answers = new Map();
    const news = wanted.filter(({ asked }) => asked.url === undefined || !this.opened.has(asked.url));
    for (const one of wanted) {
      if (!news.includes(one)) this.answers.set(one.key, ACCEPTED);
      if (one.asked.elicitationId !== undefined) this.ids.add(one.asked.elicitationId);
    }
    this.missing = news.length;
    if (news.length === 0) {
      this.again(wanted.length === 0);
      return;
    }
    this.repeats = 0;
    this.empties = 0;
    this.since = null;
    this.host.ask(news.map(({ key, asked }) => this.question(key, asked)));
  }

  /** False: not one of these visits. */
  completed(elicitationId: string): boolean {
    if (!this.ids.has(elicitationId)) return false;
    const { later } = this;
    this.timer?.clear();
    this.later = null;
    later?.();
    return true;
  }

  end(): void {
    this.over = true;
    this.timer?.clear();
    this.later = null;
  }

  private question(key: string, asked: Wanted['asked']): Asked {
    return { ...asked, live: false, progress: null, settle: (answer) => this.settled(key, asked, answer) };
  }

  private settled(key: string, asked: Wanted['asked'], answer: Settled): void {
    if (this.over) return;
    if (answer.kind === 'error' && asked.method !== 'elicitation/create') {
      this.over = true;
      this.host.refused();
      return;
    }
    const value = answer.kind === 'error' ? Buffer.from('{"action":"cancel"}') : answer.value;
    if (asked.url !== undefined && actionOf(value) === 'accept') this.opened.add(asked.url);
    this.answers.set(key, value);
    this.missing--;
    if (this.missing === 0) this.spend();
  }

  private spend(): void {
    const parts: (Uint8Array | string)[] = ['{'];
    for (const [key, value] of this.answers) {
      parts.push(parts.length === 1 ? '' : ',', JSON.stringify(key), ':', value);
    }
    parts.push('}');
    const responses = this.answers.size === 0 ? null : concat(parts);
    this.host.spend(responses);
  }

  /** Nothing new is asked: the server wants time. */
  private again(empty: boolean): void {
    this.since ??= this.clock.now();
    if (empty) this.empties++;
    const spent = this.clock.now() - this.since;
    if (this.empties > this.timings.maxEmpty || spent > this.timings.totalMs) {
      this.host.exhausted();
      return;
    }
    const ms = Math.min(this.timings.firstMs * 2 ** Math.min(this.repeats++, 16), this.timings.mostMs);
    this.later = () => this.spend();
    this.timer = this.clock.setTimer(ms, () => {
      const { later } = this;
      this.later = null;
      later?.();
    });
  }

  /** Whether the user has agreed to every visit. */
  get agreed(): boolean {
    return [...this.answers.values()].every((value) => actionOf(value) === 'accept');
  }
}

function actionOf(value: Uint8Array): unknown {
  return (JSON.parse(Buffer.from(value).toString()) as { action?: unknown }).action;
}
