// One exchange that asks its caller (protocol.md §5.5, design §4 "Parked exchange"): running → awaiting → running … →
// done, in the memory of the one node that holds it. It gathers what is asked, shows it as one `input_required`, takes
// each answer at most once, and answers in the caller's place when nobody comes. What the exchange itself does (calls,
// leases, endings) is its host's.

import { createHash } from 'node:crypto';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { AnswerEntry } from '../raise/answers.ts';
import type { ResultHead } from '../raise/contract.ts';
import { judgeAnswer } from './answer.ts';
import { type Asked, type Settled, unanswered } from './asked.ts';
import type { Audience, Listener } from './audience.ts';
import { Delivery } from './parking/delivery.ts';
import { Patience } from './parking/patience.ts';
import { type OpenQuestion, QuestionSet } from './question-set.ts';
import { heldState } from './state-text.ts';

export interface ParkingHost {
  readonly xid: string;
  readonly audience: Audience;
  /** A legacy caller's lowering waits, and sends each question on as it comes (design ruling 10). */
  readonly lowered: boolean;
  /** Spoken by the server that asks. */
  revision(): string;
  /** Facts that only a lowering needs, beside those of the questions. */
  readonly wasUrlError: boolean;
  /** A question waits for a person: the call's own time stands still. */
  awaits(deadlineMs: number): void;
  /** Others may run in its place. */
  yields(): void;
  /** It may go on; null: at once. Rejects when it never will. */
  regains(): Promise<void> | null;
  /** Nobody answered in time. */
  expired(): void;
}

export interface ParkingDeps {
  readonly clock: Clock;
  readonly random: () => string;
  humanMs(): number;
  readonly windowMs: number;
  readonly pacingMs: number;
}

export interface AskTerms {
  /** Raw JSON text of the server's id. */
  readonly id: string | null;
  /** Shown after this time, unless the call ends before. */
  readonly windowMs?: number;
  /** Answered with that when nobody has within the time. */
  readonly within?: { readonly ms: number; readonly answer: Settled };
}

export type Taken =
  | { readonly kind: 'taken'; readonly contradicted: boolean; readonly unfit: boolean }
  | { readonly kind: 'malformed'; readonly why: string };

const MAX_OPEN = 32;

export class Parking {
  readonly set: QuestionSet;
  private readonly host: ParkingHost;
  private readonly deps: ParkingDeps;
  private readonly own = new Map<string, Timer>();
  private readonly patience: Patience;
  private readonly delivery: Delivery;
  private window: Timer | null = null;
  private windowAt = 0;
  private over = false;

  constructor(host: ParkingHost, deps: ParkingDeps) {
    this.host = host;
    this.deps = deps;
    this.set = new QuestionSet(deps.random);
    this.patience = new Patience(host, deps, this.set);
    this.delivery = new Delivery(this, host, deps);
  }

  get full(): boolean {
    return this.set.size >= MAX_OPEN;
  }

  /** Something waits for an answer that the caller has been shown. */
  get awaiting(): boolean {
    return this.set.size > 0 && this.window === null;
  }

  ask(asked: Asked, terms: AskTerms): void {
    const { key } = this.set.add(asked, terms.id);
    if (terms.within !== undefined) {
      const { ms, answer } = terms.within;
      this.own.set(
        key,
        this.deps.clock.setTimer(ms, () => this.answerItself(key, answer)),
      );
    }
    this.patience.pace();
    this.patience.begin();
    if (this.host.lowered) this.show();
    else this.showWithin(terms.windowMs ?? this.deps.windowMs);
  }

  /** A round that is whole: there is nothing to gather. */
  askAll(asked: readonly Asked[]): void {
    for (const one of asked) this.set.add(one, null);
    this.patience.begin();
    this.show();
  }

  /** The server takes a question back, by its id; an answer that comes later goes nowhere. */
  withdraw(id: string): boolean {
    if (this.delivery.drop(id)) return true;
    const question = this.set.withId(id);
    if (question === undefined) return false;
    this.remove(question.key);
    this.lessened();
    return true;
  }

  /**
   * Takes each answer out of the open map before anything is written (design §4 amendment 2). Keys that are not open
   * are ignored; nothing is taken of answers that are malformed.
   */
  take(entries: readonly AnswerEntry[]): Taken {
    const fits: { question: OpenQuestion; answer: Settled; digest: string }[] = [];
    const unfit: OpenQuestion[] = [];
    let contradicted = false;
    for (const entry of entries) {
      const question = this.set.get(entry.key);
      if (question === undefined) {
        contradicted ||= this.set.contradicts(entry.key, digestOf(entry)) === true;
        continue;
      }
      const judged = judgeAnswer(question.asked, entry, this.host.revision());
      if (judged.kind === 'unfit') unfit.push(question);
      else if (judged.kind === 'fits') fits.push({ question, answer: judged.answer, digest: digestOf(entry) });
      else if (!this.host.lowered) return { kind: 'malformed', why: `the answer "${entry.key}" ${judged.why}` };
      // A legacy client has said its word and is not asked by what id it said it: its server hears that it was none.
      else fits.push({ question, answer: noAnswer(judged.why), digest: digestOf(entry) });
    }
    for (const { question, answer, digest } of fits) {
      this.set.answered(question.key, digest);
      this.disarm(question.key);
      this.delivery.add(question, answer);
    }
    for (const question of unfit) this.set.askAnew(question);
    if (this.set.size === 0) this.patience.stop();
    return { kind: 'taken', contradicted, unfit: unfit.length > 0 };
  }

  /** What was taken goes on its way. */
  deliver(): void {
    this.delivery.deliver();
  }

  /** The present round, for one who just came, and for those who wait for news when there are any. */
  tell(listener: Listener): void {
    const news = this.set.news;
    const { head, members } = this.shown();
    this.host.audience.result(head, members, (one) => one === listener || (news && !one.waits));
  }

  /** Questions, or fewer of them, for all who listen. */
  show(): void {
    this.window?.clear();
    this.window = null;
    if (this.over || this.set.size === 0) return;
    const { head, members } = this.shown();
    this.host.audience.result(head, members);
    this.delivery.passBaton(this.host.lowered ? 'soon' : 'now');
  }

  /** The exchange is over: what is open is answered in the caller's place (protocol.md §5.0 I3). */
  end(): void {
    if (this.over) return;
    this.over = true;
    for (const timer of [this.window, ...this.own.values()]) timer?.clear();
    this.window = null;
    this.own.clear();
    this.patience.end();
    const left = [...this.delivery.end(), ...this.set.all()];
    for (const { key, asked } of left) {
      this.set.remove(key);
      asked.settle(unanswered(asked.method));
    }
  }

  private shown(): { head: ResultHead; members: Uint8Array } {
    const { round, nonce } = this.set.show();
    const origin = { ...this.set.origin(), ...(this.host.wasUrlError ? { wasUrlError: true } : {}) };
    const state = heldState(this.host.xid, round, nonce);
    return { head: { resultType: 'input_required', state, origin }, members: this.set.members() };
  }

  private showWithin(ms: number): void {
    const at = this.deps.clock.now() + ms;
    if (this.window !== null && this.windowAt <= at) return;
    // Shown already, with nobody there to hear of more: the next one who comes is told.
    if (this.window === null && this.set.size > 1 && this.host.audience.size === 0 && this.set.round > 0) return;
    this.window?.clear();
    this.windowAt = at;
    this.window = this.deps.clock.setTimer(ms, () => this.show());
  }

  private answerItself(key: string, answer: Settled): void {
    const question = this.set.get(key);
    this.own.delete(key);
    if (question === undefined || this.over) return;
    this.remove(key);
    question.asked.settle(answer);
    this.lessened();
  }

  private remove(key: string): void {
    this.set.remove(key);
    this.disarm(key);
  }

  private disarm(key: string): void {
    this.own.get(key)?.clear();
    this.own.delete(key);
  }

  /** Fewer questions, and no answer was the reason: who waits for changes is told (design §4 amendment 5). */
  private lessened(): void {
    if (this.window !== null) {
      if (this.set.size === 0) this.window.clear();
      if (this.set.size === 0) this.window = null;
    } else {
      const { head, members } = this.shown();
      this.host.audience.result(head, members, (one) => one.waits || this.set.size > 0);
    }
    if (this.set.size > 0) return;
    this.patience.stop();
    this.delivery.goOn();
  }
}

function noAnswer(why: string): Settled {
  return { kind: 'error', code: -32602, message: `The client's answer ${why}` };
}

function digestOf(entry: AnswerEntry): string {
  return createHash('sha256').update(entry.value).digest('base64');
}
