// A running stdio child, seen from raise/ (protocol.md §4.1). child/ owns the process, its pipes and its end; it
// knows nothing of MCP beyond one message per line.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ScannedLine } from '../raise/wire/message.ts';

/** What ended a child that was not told to, as a label for the numbers. */
export type ExitCause = 'exit' | 'signal' | 'stalled' | 'deaf' | 'flood' | 'endless-line' | 'long-lines';

export interface ExitReason {
  /** `session-ended`: of a remote session only; its server is there still, and a new one may be begun. */
  readonly kind: 'spawn-failed' | 'exited' | 'killed' | 'stopped' | 'session-ended';
  readonly cause?: ExitCause;
  readonly code: number | null;
  readonly signal: string | null;
  /** One sentence for people: "command not found: foo", "exited with code 1 before it answered". */
  readonly words: string;
}

/** A request that got no answer from a server which may live on all the same: over HTTP each has a fate of its own. */
export interface RequestFailure {
  readonly kind:
    | 'unreachable'
    /** Our credentials, or what they are good for. */
    | 'denied'
    | 'busy'
    | 'lost'
    /** The session is over; `exit` follows. */
    | 'session'
    | 'protocol'
    | 'too-large';
  /** One sentence for people, without its server's name; never quotes the server at length. */
  readonly words: string;
  readonly mayHaveRun: boolean;
  /** Of HTTP. */
  readonly status?: number;
  readonly retryAfterMs?: number;
}

export interface ChildEvents {
  /**
   * One line of stdout that scans as JSON in valid UTF-8, without its newline. Garbage never gets here. `found` is
   * what `scanLine` of raise/wire/message.ts gave: with it the line is walked once; without it raise scans again. `of`:
   * the id of our request on whose reply it came, 0 for nobody's (protocol.md §5.0); absent where nothing tells.
   */
  line(line: Uint8Array, found?: ScannedLine, of?: number): void;
  /** This request of ours gets no answer any more. Never while `send` runs. */
  failed?(id: number, failure: RequestFailure): void;
  /**
   * A line over the cap was discarded, or garbage was seen (counted by the child; floods are told now and again). `id`:
   * JSON text of the request id that the line seems to answer (GB-032).
   */
  fault(kind: 'line-too-long' | 'not-json' | 'not-utf8', detail: string, id?: string | null): void;
  /** Once, after the last line. Never while `Spawn` runs. */
  exit(reason: ExitReason): void;
  /** After `takes` said no: it may say yes now. */
  room?(): void;
}

/** One message, or its pieces in order: what is long is not copied on its way. */
export type Line = Uint8Array | readonly Uint8Array[];

export interface Child {
  readonly pid: number | undefined;
  readonly startedAt: number;
  /**
   * Queues one message and adds a newline; raw line breaks inside become blanks. False: over the bound, not queued. The
   * bound lies well above what `takes` allows, so who asks first is not refused, and a cancel always finds a place.
   */
  send(message: Line): boolean;
  /** Whether a message of that size need not wait for those before it. */
  takes(bytes: number): boolean;
  /** Nobody waits for the answer to this request any more; the server need not know. */
  forget?(id: number): void;
  /** Stop reading stdout (only ever for a process with one call, design §5). */
  pause(): void;
  resume(): void;
  /** Redacted tail of stderr for the operator. */
  stderrTail(): string;
  readonly exited: ExitReason | null;
  /**
   * Close stdin, wait, SIGTERM the group, wait, SIGKILL the group, then end what escaped from it; `now`: SIGKILL at once.
   * `cause`: it has itself to blame. Idempotent; resolves when all are gone, never rejects.
   */
  stop(why: string, how?: 'now', cause?: ExitCause): Promise<void>;
}

/** Never throws: what fails is told by `exit`. */
export type Spawn = (spec: ServerSpec, events: ChildEvents) => Child;
