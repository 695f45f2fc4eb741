// A running stdio child, seen from raise/ (protocol.md §4.1). child/ owns the process, its pipes and its end; it
// knows nothing of MCP beyond one message per line.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ScannedLine } from '../raise/wire/message.ts';

export interface ExitReason {
  readonly kind: 'spawn-failed' | 'exited' | 'killed' | 'stopped';
  readonly code: number | null;
  readonly signal: string | null;
  /** One sentence for people: "command not found: foo", "exited with code 1 before it answered". */
  readonly words: string;
}

export interface ChildEvents {
  /**
   * One line of stdout that scans as JSON in valid UTF-8, without its newline. Garbage never gets here. `found` is
   * what `scanLine` of raise/wire/message.ts gave: with it the line is walked once; without it raise scans again.
   */
  line(line: Uint8Array, found?: ScannedLine): void;
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
  /** Stop reading stdout (only ever for a process with one call, design §5). */
  pause(): void;
  resume(): void;
  /** Redacted tail of stderr for the operator. */
  stderrTail(): string;
  readonly exited: ExitReason | null;
  /**
   * Close stdin, wait, SIGTERM the group, wait, SIGKILL the group, then end what escaped from it. Idempotent; resolves
   * when all are gone, never rejects.
   */
  stop(why: string): Promise<void>;
}

/** Never throws: what fails is told by `exit`. */
export type Spawn = (spec: ServerSpec, events: ChildEvents) => Child;
