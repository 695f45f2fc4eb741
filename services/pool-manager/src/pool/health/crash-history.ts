// Crashes of one key (auth-security I-15, GB-027): the next start waits longer after each, and after five in five minutes
// the circuit is open, with one try a minute. A child that held out for a while clears the slate. Only ever in memory:
// a restart starts afresh (GB-028). Pure but for what it remembers.

const WINDOW_MS = 5 * 60_000;
const CIRCUIT_CRASHES = 5;
const CIRCUIT_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const SUSTAINED_MS = 60_000;

export interface Gate {
  /** Unix ms; not after `now`: a start may be tried. */
  readonly untilMs: number;
  /** Words that complete "server X could not be started: …". */
  readonly words: string;
  readonly circuitOpen: boolean;
  /** The last failure was a refusal of our credentials. */
  readonly denied: boolean;
}

/** What a process did when it ended, or did not come to do. */
export type During = 'start' | 'call' | 'idle';

const DID: Readonly<Record<Exclude<During, 'start'>, string>> = {
  call: 'it started, but crashed in calls',
  idle: 'it started, but ended by itself',
};

export class CrashHistory {
  private times: { readonly at: number; readonly during: During }[] = [];
  private last = '';
  private denied = false;
  private tail = '';

  get lastWords(): string {
    return this.last;
  }

  get lastTail(): string {
    return this.tail;
  }

  crashed(words: string, tail: string, uptimeMs: number, now: number, during: During = 'start', denied = false): void {
    if (uptimeMs >= SUSTAINED_MS) this.times = [];
    this.times = [...this.recent(now), { at: now, during }].slice(-CIRCUIT_CRASHES);
    this.last = words;
    this.tail = tail;
    this.denied = denied;
  }

  clear(): void {
    this.times = [];
  }

  /** Null when nothing stands against a start. */
  gate(now: number): Gate | null {
    const recent = this.recent(now);
    const latest = recent.at(-1);
    if (latest === undefined) return null;
    const circuitOpen = recent.length >= CIRCUIT_CRASHES;
    const untilMs = latest.at + (circuitOpen ? CIRCUIT_MS : FIRST_PAUSE_MS * 2 ** (recent.length - 1));
    if (untilMs <= now) return null;
    const next = `the next try is in ${Math.ceil((untilMs - now) / 1000)} s`;
    const { during } = latest;
    const times = recent.filter((one) => one.during === during).length;
    return { untilMs, words: this.words(during, times, circuitOpen, next), circuitOpen, denied: this.denied };
  }

  /** Nothing worth keeping. */
  isOver(now: number): boolean {
    return this.recent(now).length === 0;
  }

  private recent(now: number) {
    return this.times.filter(({ at }) => at > now - WINDOW_MS);
  }

  /** Whoever starts well must not be said to fail to start. */
  private words(during: During, times: number, circuitOpen: boolean, next: string): string {
    if (during !== 'start') {
      const often = times === 1 ? 'once' : `${times} times`;
      return `${DID[during]} ${often} within 5 minutes, the last time: ${this.last}; ${next}`;
    }
    if (!circuitOpen) return `${this.last} (${next})`;
    return `it failed ${CIRCUIT_CRASHES} times within 5 minutes, the last time: ${this.last}; ${next}`;
  }
}
