// The open questions of one exchange: keys, rounds, what each state may still be used for (protocol.md §5.5, design §4
// amendments 2 and 4). A key is random, never used twice, and stands for one question: whoever brings its answer with
// any seal of this exchange brings it for that question. Pure; settling is the parking's.

import { concat } from '@lockkeeper/protocol/json/compose';
import type { Origin } from '@lockkeeper/protocol/link/frames';
import type { Asked } from './asked.ts';

export interface OpenQuestion {
  readonly key: string;
  readonly asked: Asked;
  /** Raw JSON text of the server's id; null: not on a pipe. */
  readonly id: string | null;
  /** The round in which it was shown first, or anew. */
  round: number;
}

/** States of older rounds are told apart this far back; beyond, the seal alone vouches for them. */
const MAX_NONCES = 64;
/** Answers given already, to tell a repetition from a contradiction. */
const MAX_GIVEN = 256;

export class QuestionSet {
  /** Number of the last round that was shown; 0: none yet. */
  round = 0;
  private readonly random: () => string;
  private readonly open = new Map<string, OpenQuestion>();
  private readonly nonces = new Map<number, string>();
  private readonly given = new Map<string, string>();
  private changed = false;

  constructor(random: () => string) {
    this.random = random;
  }

  get size(): number {
    return this.open.size;
  }

  /** The set is another than that of the last round. */
  get news(): boolean {
    return this.changed;
  }

  all(): OpenQuestion[] {
    return [...this.open.values()];
  }

  add(asked: Asked, id: string | null): OpenQuestion {
    const question = { key: `lk-${this.random()}`, asked, id, round: this.round + 1 };
    this.open.set(question.key, question);
    this.changed = true;
    return question;
  }

  /** Its answer was of no use: it is asked once more, under its key. */
  askAnew(question: OpenQuestion): void {
    question.round = this.round + 1;
    this.changed = true;
  }

  get(key: string): OpenQuestion | undefined {
    return this.open.get(key);
  }

  withId(id: string): OpenQuestion | undefined {
    for (const question of this.open.values()) if (question.id === id) return question;
    return undefined;
  }

  /** Answered: `digest` of the answer. Never handed out again. */
  answered(key: string, digest: string): void {
    if (this.given.size >= MAX_GIVEN) this.given.delete(this.given.keys().next().value!);
    this.given.set(key, digest);
    this.remove(key);
  }

  /** Whether this key was answered otherwise before; `null`: it never was. */
  contradicts(key: string, digest: string): boolean | null {
    const before = this.given.get(key);
    return before === undefined ? null : before !== digest;
  }

  remove(key: string): boolean {
    const there = this.open.delete(key);
    if (there) this.changed = true;
    return there;
  }

  /** The round to be shown now: a new one where something has changed. */
  show(): { readonly round: number; readonly nonce: string } {
    if (this.changed || this.round === 0) {
      this.round++;
      this.changed = false;
      this.nonces.set(this.round, this.random());
      this.nonces.delete(this.round - MAX_NONCES);
    }
    return { round: this.round, nonce: this.nonces.get(this.round)! };
  }

  /** Whether a state with these was ever given out. */
  knows(round: number, nonce: string): boolean {
    if (round > this.round || round < 1) return false;
    const own = this.nonces.get(round);
    return own === undefined || own === nonce;
  }

  /** `"inputRequests":{…}`. */
  members(): Uint8Array {
    const parts: (Uint8Array | string)[] = ['"inputRequests":{'];
    for (const { key, asked } of this.open.values()) {
      if (parts.length > 1) parts.push(',');
      parts.push(`"${key}":{"method":"${asked.method}"`);
      if (asked.params !== null) parts.push(',"params":', asked.params);
      parts.push('}');
    }
    parts.push('}');
    return concat(parts);
  }

  /** For a legacy caller's lowering only (protocol/link/frames.ts). */
  origin(): Origin {
    const asked: Record<string, number> = {};
    const elicitationIds: Record<string, string> = {};
    for (const question of this.open.values()) {
      asked[question.key] = question.round;
      const id = question.asked.elicitationId;
      if (id !== undefined) elicitationIds[question.key] = id;
    }
    return { asked, ...(Object.keys(elicitationIds).length === 0 ? {} : { elicitationIds }) };
  }
}
