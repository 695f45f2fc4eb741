// Server-sent events as bytes (protocol.md §2.4, §4.4): parsed as Latin-1, so that what a server wrote is what is read,
// bad UTF-8 included, and bounded in front: an event over the cap is skipped to its end, and the stream goes on.

import type { LongLine } from '@lockkeeper/protocol/framing/ndjson';
import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { createParser } from 'eventsource-parser';

export interface EventSink {
  /** `name`: '' where the server gave none. */
  event(name: string, data: Uint8Array): void;
  /** From now on the stream may be resumed behind this one. Latin-1 text, as a header carries it. */
  id(id: string): void;
  retry(ms: number): void;
  /** An event over the cap, at its end. */
  tooLong(event: LongLine): void;
  /** An event has no end: nothing more can be read. Or, with `true`, one over the cap has begun. */
  endless(begun: boolean): void;
}

const ENDLESS_FACTOR = 64;
const KEPT_BYTES = 512;
/** Names, ids and the like beside the data. */
const MARGIN_BYTES = 1024;
const MAX_ID = 1024;
const CR = 0x0d;
const LF = 0x0a;

export class EventStream {
  private readonly maxBytes: number;
  private readonly sink: EventSink;
  private readonly parser: ReturnType<typeof createParser>;
  /** Bytes since the end of the last event. */
  private pending = 0;
  private head: Uint8Array = new Uint8Array(0);
  private tail: Uint8Array = new Uint8Array(0);
  private skipping = false;
  private fired = false;
  private lineEmpty = false;
  private afterCr = false;
  /** In the chunk at hand. */
  events = 0;

  constructor(maxBytes: number, sink: EventSink) {
    this.maxBytes = maxBytes;
    this.sink = sink;
    this.parser = createParser({
      onId: (id) => {
        if (id.length <= MAX_ID) sink.id(id);
      },
      onEvent: ({ event, data }) => {
        this.fired = true;
        this.events++;
        this.event(event ?? '', data);
      },
      onRetry: (ms) => sink.retry(ms),
    });
  }

  push(chunk: Uint8Array): void {
    this.events = 0;
    const rest = this.skipping ? this.skip(chunk) : chunk;
    if (rest.length === 0) return;
    this.fired = false;
    this.parser.feed(Buffer.from(rest.buffer, rest.byteOffset, rest.length).toString('latin1'));
    this.measure(rest);
    if (this.pending <= this.maxBytes + MARGIN_BYTES) return;
    this.skipping = true;
    this.lineEmpty = false;
    this.afterCr = false;
    this.parser.reset();
    this.sink.endless(true);
  }

  private event(name: string, data: string): void {
    const bytes = Buffer.from(data, 'latin1');
    if (bytes.length <= this.maxBytes) {
      this.sink.event(name, bytes);
      return;
    }
    this.sink.tooLong({
      bytes: bytes.length,
      head: copyOf(bytes.subarray(0, KEPT_BYTES)),
      tail: copyOf(bytes.subarray(-KEPT_BYTES)),
    });
  }

  /** How much of the current event there is. */
  private measure(chunk: Uint8Array): void {
    const end = lastBlankLine(chunk);
    const own = end === -1 ? chunk : chunk.subarray(end);
    // A blank line may be torn over two chunks; then this is a little too much, and once.
    if (end !== -1 || this.fired) this.pending = 0;
    if (this.pending === 0) this.head = copyOf(own.subarray(0, KEPT_BYTES));
    this.pending += own.length;
    if (this.pending > this.maxBytes) this.keepTail(own);
  }

  private keepTail(own: Uint8Array): void {
    this.tail =
      own.length >= KEPT_BYTES
        ? copyOf(own.subarray(-KEPT_BYTES))
        : Buffer.concat([this.tail, own]).subarray(-KEPT_BYTES);
  }

  /** What follows the end of the event that is skipped. */
  private skip(chunk: Uint8Array): Uint8Array {
    const end = this.blankLine(chunk);
    const own = end === -1 ? chunk : chunk.subarray(0, end);
    this.pending += own.length;
    this.keepTail(own);
    if (end === -1) {
      if (this.pending > this.maxBytes * ENDLESS_FACTOR) this.sink.endless(false);
      return NOTHING;
    }
    this.skipping = false;
    this.sink.tooLong({ bytes: this.pending, head: fromBrace(this.head), tail: trimmed(this.tail) });
    this.pending = 0;
    return chunk.subarray(end);
  }

  private blankLine(chunk: Uint8Array): number {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === LF && this.afterCr) {
        this.afterCr = false;
        continue;
      }
      this.afterCr = byte === CR;
      if (byte !== LF && byte !== CR) this.lineEmpty = false;
      else if (this.lineEmpty) return at + 1;
      else this.lineEmpty = true;
    }
    return -1;
  }
}

const NOTHING = new Uint8Array(0);
const BLANKS = ['\n\n', '\r\n\r\n', '\r\r'] as const;

/** Behind the last blank line, which ends an event; -1: there is none. */
function lastBlankLine(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  let end = -1;
  for (const blank of BLANKS) {
    const at = bytes.lastIndexOf(blank, undefined, 'latin1');
    if (at !== -1) end = Math.max(end, at + blank.length);
  }
  return end;
}

function fromBrace(head: Uint8Array): Uint8Array {
  const at = head.indexOf(0x7b);
  return at === -1 ? head : head.subarray(at);
}

function trimmed(tail: Uint8Array): Uint8Array {
  let end = tail.length;
  while (end > 0 && (tail[end - 1] === LF || tail[end - 1] === CR)) end--;
  return tail.subarray(0, end);
}
