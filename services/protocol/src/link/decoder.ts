// Frames to messages: a push parser that takes the bytes in any portions. It bounds what it keeps and throws
// `WireFault` at the first byte that does not belong; after that it is of no use. It knows no streams' order.

import { ABORT, FIRST, HEADER_BYTES, MAX_PAYLOAD_BYTES, MORE } from './codec.ts';
import type { Head } from './frames.ts';
import { parseHead } from './heads.ts';
import { MAX_HEAD_BYTES, MAX_SENDING_BYTES } from './version.ts';
import { WireFault } from './wire-fault.ts';

/** A whole message. `body` may be a view of the chunk that was pushed: copy what outlives the exchange. */
export interface Arrival {
  readonly stream: number;
  readonly seq: number;
  readonly head: Head;
  readonly body: Uint8Array;
  /** Bytes of head and body, and those of them that no `part` has reported before. */
  readonly total: number;
  readonly fresh: number;
}

export interface DecoderSink {
  message(arrival: Arrival): void;
  /** A frame of a message still to be completed. */
  part(stream: number, bytes: number): void;
  /** The sender gave the message up. */
  aborted(stream: number): void;
}

interface Partial {
  readonly seq: number;
  readonly headBytes: number;
  readonly bytes: Uint8Array;
  filled: number;
  /** Payload of the frames before this one. */
  reported: number;
}

const MAX_PARTIAL = 64;
const SHORT_HEAD_BYTES = 8;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function get32(b: Uint8Array, at: number): number {
  return ((b[at]! << 24) | (b[at + 1]! << 16) | (b[at + 2]! << 8) | b[at + 3]!) >>> 0;
}

function headOf(stream: number, bytes: Uint8Array, start: number, end: number): Head {
  return parseHead(shortText(bytes, start, end) ?? textOf(bytes, start, end), stream);
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw new WireFault('bad-head', 'not UTF-8');
  }
}

/** The heads of nearly every answer are a letter or two: not worth a decoder. */
function shortText(bytes: Uint8Array, start: number, end: number): string | null {
  if (end - start > SHORT_HEAD_BYTES) return null;
  let text = '';
  for (let i = start; i < end; i++) {
    const c = bytes[i]!;
    if (c >= 0x80) return null;
    text += String.fromCharCode(c);
  }
  return text;
}

export class FrameDecoder {
  readonly #sink: DecoderSink;
  /** Raised once the peer has proved itself. */
  #maxMessage: number;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerFilled = 0;
  readonly #partials = new Map<number, Partial>();
  #partialBytes = 0;
  // The frame being read.
  #flags = 0;
  #left = 0;
  #stream = 0;
  #current: Partial | null = null;
  #closed = false;

  constructor(sink: DecoderSink, maxMessageBytes: number) {
    this.#sink = sink;
    this.#maxMessage = maxMessageBytes;
  }

  allow(maxMessageBytes: number): void {
    this.#maxMessage = maxMessageBytes;
  }

  /** Nothing more is delivered, not even of the chunk being pushed. */
  close(): void {
    this.#closed = true;
    this.#partials.clear();
    this.#current = null;
  }

  /** Bytes kept for messages still to be completed. */
  get heldBytes(): number {
    return this.#partialBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.#closed) {
      if (this.#current === null) {
        at = this.#takeHeader(chunk, at);
        continue;
      }
      const n = Math.min(this.#left, chunk.length - at);
      this.#current.bytes.set(chunk.subarray(at, at + n), this.#current.filled);
      this.#current.filled += n;
      this.#left -= n;
      at += n;
      if (this.#left === 0) this.#frameEnds();
    }
  }

  /** Reads a header, and a whole one-frame message behind it if it is all there. Returns where to go on. */
  #takeHeader(chunk: Uint8Array, at: number): number {
    if (this.#headerFilled === 0 && chunk.length - at >= HEADER_BYTES) {
      return this.#beginFrame(chunk, at, chunk, at + HEADER_BYTES);
    }
    const n = Math.min(HEADER_BYTES - this.#headerFilled, chunk.length - at);
    this.#header.set(chunk.subarray(at, at + n), this.#headerFilled);
    this.#headerFilled += n;
    if (this.#headerFilled < HEADER_BYTES) return at + n;
    this.#headerFilled = 0;
    return this.#beginFrame(this.#header, 0, chunk, at + n);
  }

  #beginFrame(header: Uint8Array, h: number, chunk: Uint8Array, at: number): number {
    const word = get32(header, h);
    const flags = word >>> 24;
    const payload = word & 0xff_ffff;
    const stream = get32(header, h + 4);
    const seq = get32(header, h + 8);
    if (flags > (FIRST | MORE | ABORT) || payload > MAX_PAYLOAD_BYTES) throw new WireFault('bad-frame', 'header');
    if ((flags & ABORT) !== 0) {
      if (flags !== ABORT || payload !== 0) throw new WireFault('bad-frame', 'abort');
      this.#forget(stream);
      this.#sink.aborted(stream);
      return at;
    }
    if (payload === 0) throw new WireFault('bad-frame', 'empty');
    this.#flags = flags;
    this.#left = payload;
    this.#stream = stream;
    if ((flags & FIRST) === 0) {
      const partial = this.#partials.get(stream);
      if (partial === undefined || partial.seq !== seq) throw new WireFault('bad-frame', 'continues nothing');
      if (partial.filled + payload > partial.bytes.length) throw new WireFault('bad-frame', 'longer than announced');
      this.#current = partial;
      return at;
    }
    const headBytes = get32(header, h + 12);
    const total = get32(header, h + 16);
    this.#checkSizes(flags, payload, headBytes, total);
    if ((flags & MORE) === 0 && chunk.length - at >= payload) {
      const body = at + headBytes;
      const end = at + payload;
      const head = headOf(stream, chunk, at, body);
      this.#sink.message({ stream, seq, head, body: chunk.subarray(body, end), total, fresh: total });
      return end;
    }
    this.#begin(stream, { seq, headBytes, bytes: new Uint8Array(total), filled: 0, reported: 0 });
    return at;
  }

  #checkSizes(flags: number, payload: number, headBytes: number, total: number): void {
    if (total > this.#maxMessage || headBytes > MAX_HEAD_BYTES) throw new WireFault('message-too-long', String(total));
    const whole = (flags & MORE) === 0;
    if (headBytes === 0 || headBytes > total || (whole ? payload !== total : payload >= total)) {
      throw new WireFault('bad-frame', 'sizes');
    }
  }

  #begin(stream: number, partial: Partial): void {
    if (this.#partials.has(stream)) throw new WireFault('bad-frame', 'begins twice');
    this.#partialBytes += partial.bytes.length;
    const several = this.#partials.size > 0 && this.#partialBytes > MAX_SENDING_BYTES;
    if (several || this.#partials.size >= MAX_PARTIAL) {
      throw new WireFault('too-many-partial', String(this.#partials.size));
    }
    this.#partials.set(stream, partial);
    this.#current = partial;
  }

  #frameEnds(): void {
    const partial = this.#current!;
    const stream = this.#stream;
    this.#current = null;
    if ((this.#flags & MORE) !== 0) {
      if (partial.filled === partial.bytes.length) throw new WireFault('bad-frame', 'shorter than announced');
      const bytes = partial.filled - partial.reported;
      partial.reported = partial.filled;
      this.#sink.part(stream, bytes);
      return;
    }
    if (partial.filled !== partial.bytes.length) throw new WireFault('bad-frame', 'shorter than announced');
    this.#forget(stream);
    const { bytes, headBytes, seq, reported } = partial;
    const head = headOf(stream, bytes, 0, headBytes);
    const total = bytes.length;
    this.#sink.message({ stream, seq, head, body: bytes.subarray(headBytes), total, fresh: total - reported });
  }

  #forget(stream: number): void {
    const partial = this.#partials.get(stream);
    if (partial === undefined) return;
    this.#partials.delete(stream);
    this.#partialBytes -= partial.bytes.length;
  }
}
