// What a child says, as lines that are messages at least by their form (protocol.md §4.1): valid UTF-8, one JSON object or
// array. The rest is dropped, counted and told, at first each time and then now and again (GB-029).

import { isUtf8 } from 'node:buffer';
import { idOfBrokenLine, idOfLongLine } from '@lockkeeper/protocol/framing/long-line';
import { createLineSplitter, type LineSplitter, type LongLine } from '@lockkeeper/protocol/framing/ndjson';
import { scanLine } from '../../raise/wire/message.ts';
import type { ChildEvents, ExitCause } from '../contract.ts';
import type { OutputRate } from '../output-rate.ts';
import { escapeControls, type Redactor } from './redact.ts';

/** So many in a row are worth a word to the operator (auth-security I-13) … */
const UNHEALTHY_ROW = 10;
/** … and so many are a flood that ends the child. */
const HOPELESS_ROW = 10_000;
/** A line over the cap that grows to so many times the cap has no end. */
const ENDLESS_FACTOR = 64;
const FLOODED = 'flooded its output with lines that are no messages';
const TOLD_EACH = 20;
const TOLD_EVERY = 1000;
const SHOWN_CHARS = 120;

export interface StdoutDeps {
  readonly maxLineBytes: number;
  readonly events: Pick<ChildEvents, 'line' | 'fault'>;
  readonly redactor: Redactor;
  /** Null: as fast as it can. */
  readonly rate: OutputRate | null;
  /** The child cannot be listened to any longer. */
  readonly hopeless: (why: string, cause: ExitCause) => void;
}

export class StdoutLines {
  private readonly deps: StdoutDeps;
  private readonly splitter: LineSplitter;
  private garbage = 0;
  private row = 0;
  private atEnd = false;
  /** Of any kind, in the chunk at hand. */
  private lines = 0;
  /** Messages so far. */
  messages = 0;

  constructor(deps: StdoutDeps) {
    this.deps = deps;
    this.splitter = createLineSplitter(deps.maxLineBytes, {
      line: (bytes) => this.line(bytes),
      tooLong: (line) => this.tooLong(line),
    });
  }

  push(chunk: Uint8Array): void {
    this.lines = 0;
    this.splitter.push(chunk);
    const flood = this.deps.rate?.spend(this.lines, chunk.length) ?? null;
    if (flood !== null) this.deps.hopeless(flood, 'flood');
    if (this.splitter.discarding > this.deps.maxLineBytes * ENDLESS_FACTOR) {
      this.deps.hopeless('wrote a line without end', 'endless-line');
    }
  }

  end(): void {
    this.atEnd = true;
    this.splitter.end();
  }

  private line(bytes: Uint8Array): void {
    this.lines++;
    if (!isUtf8(bytes)) {
      this.dropped('not-utf8', bytes);
      return;
    }
    const found = scanned(bytes);
    if (found === null || (found.kind !== 'object' && found.kind !== 'array')) {
      this.dropped('not-json', bytes);
      return;
    }
    this.messages++;
    this.row = 0;
    this.deps.events.line(bytes, found);
  }

  private tooLong(line: LongLine): void {
    const { maxLineBytes, events } = this.deps;
    events.fault('line-too-long', `${line.bytes} bytes, ${maxLineBytes} are allowed`, idOfLongLine(line));
  }

  private dropped(kind: 'not-utf8' | 'not-json', bytes: Uint8Array): void {
    this.garbage++;
    this.row++;
    if (this.row === HOPELESS_ROW) this.deps.hopeless(FLOODED, 'flood');
    // What it was writing when it died is no broken answer: whoever waits for it is told of the death.
    const id = this.atEnd ? null : idOfBrokenLine(bytes);
    if (id !== null) {
      // Somebody may wait for it, so it is told each time.
      this.deps.events.fault(kind, `answer dropped: ${this.shown(bytes)}`, id);
      return;
    }
    if (this.row === UNHEALTHY_ROW) {
      this.deps.events.fault(kind, `unhealthy: ${UNHEALTHY_ROW} lines in a row that are no messages`);
    } else if (this.garbage <= TOLD_EACH || this.garbage % TOLD_EVERY === 0) {
      this.deps.events.fault(kind, `line dropped (${this.garbage} so far): ${this.shown(bytes)}`);
    }
  }

  private shown(bytes: Uint8Array): string {
    const text = Buffer.from(bytes.subarray(0, 1024)).toString('utf8');
    return escapeControls(this.deps.redactor.redact(text)).slice(0, SHOWN_CHARS);
  }
}

function scanned(bytes: Uint8Array): ReturnType<typeof scanLine> | null {
  try {
    return scanLine(bytes);
  } catch {
    return null;
  }
}
