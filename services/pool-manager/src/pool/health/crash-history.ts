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
}

export class CrashHistory {
  private times: number[] = [];
  private last = '';
  private tail = '';

  get lastWords(): string {
    return this.last;
  }

  get lastTail(): string {
    return this.tail;
  }

  crashed(words: string, tail: string, uptimeMs: number, now: number): void {
    if (uptimeMs >= SUSTAINED_MS) this.times = [];
    this.times = [...this.times.filter((at) => at > now - WINDOW_MS), now].slice(-CIRCUIT_CRASHES);
    this.last = words;
    this.tail = tail;
  }

  clear(): void {
    this.times = [];
  }

  /** Null when nothing stands against a start. */
  gate(now: number): Gate | null {
    const recent = this.times.filter((at) => at > now - WINDOW_MS);
    const latest = recent.at(-1);
    if (latest === undefined) return null;
    const circuitOpen = recent.length >= CIRCUIT_CRASHES;
    const untilMs = latest + (circuitOpen ? CIRCUIT_MS : FIRST_PAUSE_MS * 2 ** (recent.length - 1));
    if (untilMs <= now) return null;
    const seconds = Math.ceil((untilMs - now) / 1000);
    const words = circuitOpen
      ? `it failed ${CIRCUIT_CRASHES} times within 5 minutes, the last time: ${this.last}; the next try is in ${seconds} s`
      : `${this.last} (the next try is in ${seconds} s)`;
    return { untilMs, words, circuitOpen };
  }

  /** Nothing worth keeping. */
  isOver(now: number): boolean {
    return this.times.every((at) => at <= now - WINDOW_MS);
  }
}
