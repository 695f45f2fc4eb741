// Bytes of a stdio pipe cut into lines (protocol.md §4.1), and a message made fit for one. A push splitter: chunk
// boundaries mean nothing, nothing is decoded, so no character is ever torn (GB-030, GB-031). A line over the cap is
// discarded up to its newline and reported once; what follows it is read as if nothing had happened (design ruling 1).

import { copyOf } from '../json/bytes.ts';

/** What is left of a discarded line: enough to find whose answer it was. */
export interface LongLine {
  /** Length without the newline. */
  readonly bytes: number;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

export interface LineSink {
  /** Without its line ending. Blank lines are not handed over. The bytes may be kept. */
  line(bytes: Uint8Array): void;
  tooLong(line: LongLine): void;
}

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** The stream has ended: what stands without a newline is a line too. */
  end(): void;
  /** Bytes of the line over the cap that is being discarded just now; 0 when none is. */
  readonly discarding: number;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const BOM = [0xef, 0xbb, 0xbf] as const;
const NOTHING = new Uint8Array(0);
/** Shorter parts are copied together, so that a line that comes byte by byte costs no object for each byte. */
const SMALL_BYTES = 4 * 1024;
const TAIL_BYTES = 16 * 1024;
const KEPT_BYTES = 512;

export function createLineSplitter(maxLineBytes: number, sink: LineSink): LineSplitter {
  return new Splitter(maxLineBytes, sink);
}

class Splitter implements LineSplitter {
  discarding = 0;
  private readonly cap: number;
  private readonly sink: LineSink;
  /** The line so far, when it began in an earlier chunk: `held` bytes in `parts` and the first `filled` of `last`. */
  private parts: Uint8Array[] = [];
  private last: Uint8Array = NOTHING;
  private filled = 0;
  private held = 0;
  private head: Uint8Array = NOTHING;
  private tail: Uint8Array = NOTHING;
  private first = true;

  constructor(maxLineBytes: number, sink: LineSink) {
    this.cap = maxLineBytes;
    this.sink = sink;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(LF, from);
      if (at === -1) break;
      this.finish(chunk, from, at);
      from = at + 1;
    }
    if (from < chunk.length) this.keep(chunk.subarray(from));
  }

  end(): void {
    this.finish(NOTHING, 0, 0);
  }

  private finish(chunk: Uint8Array, from: number, to: number): void {
    const part = chunk.subarray(from, to);
    if (this.discarding > 0) {
      this.discard(part);
      this.report();
    } else if (this.held === 0) this.emit(part);
    else if (this.held + part.length > this.cap + 1) {
      this.startDiscarding(part);
      this.report();
    } else {
      this.append(part);
      this.emit(this.whole());
    }
  }

  /** The line goes on in the next chunk. */
  private keep(part: Uint8Array): void {
    if (this.discarding > 0) this.discard(part);
    // One byte more than the cap may still be the \r of a line that just fits.
    else if (this.held + part.length > this.cap + 1) this.startDiscarding(part);
    else this.append(part);
  }

  /** Large parts are kept as they are: a megabyte is copied once, when its end has come. */
  private append(part: Uint8Array): void {
    this.held += part.length;
    if (part.length >= SMALL_BYTES) {
      this.seal();
      this.parts.push(part);
      return;
    }
    if (this.filled + part.length > this.last.length) {
      this.seal();
      this.last = new Uint8Array(TAIL_BYTES);
    }
    this.last.set(part, this.filled);
    this.filled += part.length;
  }

  /** What was copied together is a part like the others. */
  private seal(): void {
    if (this.filled > 0) this.parts.push(this.last.subarray(0, this.filled));
    this.last = NOTHING;
    this.filled = 0;
  }

  /** The line so far, which is taken out. */
  private whole(): Uint8Array {
    this.seal();
    const { parts, held } = this;
    this.parts = [];
    this.held = 0;
    if (parts.length === 1) return parts[0]!;
    const out = new Uint8Array(held);
    let at = 0;
    for (const part of parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }

  private startDiscarding(part: Uint8Array): void {
    this.discard(this.whole());
    this.discard(part);
  }

  private discard(part: Uint8Array): void {
    this.discarding += part.length;
    if (this.head.length < KEPT_BYTES) this.head = join(this.head, part.subarray(0, KEPT_BYTES - this.head.length));
    this.tail = copyOf((part.length >= KEPT_BYTES ? part : join(this.tail, part)).subarray(-KEPT_BYTES));
  }

  private report(): void {
    const long = { bytes: this.discarding, head: this.head, tail: this.tail };
    this.discarding = 0;
    this.head = NOTHING;
    this.tail = NOTHING;
    this.first = false;
    this.sink.tooLong(long);
  }

  private emit(raw: Uint8Array): void {
    const bytes = this.trim(raw);
    if (bytes.length > this.cap) {
      this.discard(bytes);
      this.report();
    } else if (!isBlank(bytes)) this.sink.line(bytes);
  }

  /** Without \r, and on the first line without a byte order mark (GB-031 f). */
  private trim(raw: Uint8Array): Uint8Array {
    const marked = this.first && raw[0] === BOM[0] && raw[1] === BOM[1] && raw[2] === BOM[2];
    this.first = false;
    const start = marked ? BOM.length : 0;
    const end = raw[raw.length - 1] === CR ? raw.length - 1 : raw.length;
    return start === 0 && end === raw.length ? raw : raw.subarray(start, end);
  }
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte > SPACE) return false;
  return true;
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/**
 * Valid JSON on one line: raw line breaks, which can only stand between tokens, become blanks, and nothing else changes
 * (GB-033). A lone \r counts, since some servers read it as a line's end. Gives back the same bytes when there is none.
 */
export function oneLine(message: Uint8Array): Uint8Array {
  if (message.indexOf(LF) === -1 && message.indexOf(CR) === -1) return message;
  const out = copyOf(message);
  for (let i = 0; i < out.length; i++) if (out[i] === LF || out[i] === CR) out[i] = SPACE;
  return out;
}
