// The sending half of a connection pair: which message goes next on which lane. Short messages share writes; long ones
// take turns on the bulk lane, a frame at a time, while their stream and the connection have credit. The messages of
// one stream are handed over strictly one after another, so what the receiver must hold never needs credit itself.

import { atMost, FrameBuffer, LongMessage, MAX_PAYLOAD_BYTES } from './codec.ts';
import type { ControlHead, StreamHead } from './frames.ts';
import { NO_BODY } from './frames.ts';
import { headText } from './heads.ts';
import type { Stream } from './stream.ts';
import {
  BULK_THRESHOLD_BYTES,
  CONNECTION_WINDOW_BYTES,
  MAX_HEAD_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_SENDING_BYTES,
  STREAM_WINDOW_BYTES,
} from './version.ts';

/** As much of a socket as is written to. */
export interface SendingSide {
  write(bytes: Uint8Array): boolean;
  cork(): void;
  uncork(): void;
  readonly writableLength: number;
}

/** Long messages that take turns at once; it bounds what the receiver must keep half-read. */
const MAX_SENDING = 8;
/** Beyond this a lane's socket takes nothing more until it drains. */
const SMALL_LANE_BUFFER = 1024 * 1024;
const BULK_LANE_BUFFER = 256 * 1024;

export interface OutboxDeps {
  readonly small: SendingSide;
  readonly bulk: SendingSide;
  readonly copy: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Something waits for `flush`. */
  readonly touched: () => void;
  /** An ending stream has handed over its last byte. */
  readonly ended: (stream: Stream) => void;
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #buffer: FrameBuffer;
  #credit = CONNECTION_WINDOW_BYTES;
  #smallFull = false;
  readonly #short = new Set<Stream>();
  readonly #waiting = new Set<Stream>();
  readonly #sending = new Set<Stream>();
  /** Of `sending` and `paused` streams. */
  #begun = 0;
  #begunBytes = 0;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#buffer = new FrameBuffer(deps.copy);
  }

  /** False when the message is larger than the link carries; nothing is sent then. */
  send(stream: Stream, head: StreamHead, body: Uint8Array): boolean {
    const text = headText(head);
    const bound = atMost(text, body);
    if (bound <= BULK_THRESHOLD_BYTES) {
      if (stream.queue.length === 0 && this.#mayPass(stream, bound)) {
        this.#append(stream, text, body);
        this.#deps.touched();
        return true;
      }
      stream.queue.push({ kind: 'short', head: text, body, atMost: bound });
      stream.queuedBytes += bound;
    } else {
      const message = new LongMessage(stream.id, stream.sendSeq + stream.queue.length, text, body);
      if (message.total > MAX_MESSAGE_BYTES || message.headBytes > MAX_HEAD_BYTES) return false;
      stream.queue.push({ kind: 'long', message });
      stream.queuedBytes += message.total;
    }
    if (stream.queue.length === 1) this.#place(stream);
    this.#deps.touched();
    return true;
  }

  /** A few bytes of a stream that must not wait for credit. The queue must be empty. */
  sendAtOnce(stream: Stream, head: StreamHead): void {
    this.#append(stream, headText(head), NO_BODY);
    this.#deps.touched();
  }

  control(head: ControlHead): void {
    this.#buffer.append(0, 0, headText(head), NO_BODY);
    this.#deps.touched();
  }

  /** The stream is forgotten once all of it has been handed over. */
  end(stream: Stream): void {
    stream.ending = true;
    if (stream.place === 'idle') this.#deps.ended(stream);
  }

  /** Takes back what has not been handed over. */
  drop(stream: Stream): void {
    const first = stream.queue[0];
    if (stream.place === 'sending' || stream.place === 'paused') {
      if (first?.kind === 'long') {
        this.#deps.bulk.write(first.message.abort());
        this.#begun -= 1;
        this.#begunBytes -= first.message.total;
      }
    }
    this.#short.delete(stream);
    this.#waiting.delete(stream);
    this.#sending.delete(stream);
    stream.queue.length = 0;
    stream.queuedBytes = 0;
    stream.place = 'idle';
    if (this.#waiting.size > 0) this.#deps.touched();
  }

  grantConnection(bytes: number): void {
    this.#credit += bytes;
    this.#deps.touched();
  }

  grant(stream: Stream, bytes: number, advance: boolean): void {
    if (advance) {
      if (stream.place !== 'sending' && stream.place !== 'paused') return;
      stream.advance += bytes;
    }
    stream.credit += bytes;
    if (stream.place === 'paused') {
      stream.place = 'sending';
      this.#sending.add(stream);
    } else if (stream.place === 'blocked') this.#place(stream);
    else return;
    this.#deps.touched();
  }

  /** Bytes given to `send` of which the receiver has not said that it took them. */
  pending(stream: Stream): number {
    return stream.queuedBytes + Math.max(0, STREAM_WINDOW_BYTES - stream.credit + stream.advance);
  }

  /** Hands over as much as credit and sockets take. */
  flush(): void {
    for (let again = true; again; ) {
      if (this.#short.size > 0) this.#passShort();
      this.flushSmall();
      again = (this.#waiting.size > 0 || this.#sending.size > 0) && this.#passLong();
    }
  }

  flushSmall(): void {
    if (this.#buffer.empty) return;
    const { small } = this.#deps;
    for (const piece of this.#buffer.take()) small.write(piece);
    this.#smallFull = small.writableLength > SMALL_LANE_BUFFER;
  }

  smallDrained(): void {
    this.#smallFull = false;
  }

  #mayPass(stream: Stream, bytes: number): boolean {
    return !this.#smallFull && stream.credit >= bytes && this.#credit >= bytes;
  }

  #append(stream: Stream, head: string, body: Uint8Array): void {
    const bytes = this.#buffer.append(stream.id, stream.sendSeq, head, body);
    stream.sendSeq += 1;
    stream.credit -= bytes;
    this.#credit -= bytes;
  }

  /** After the first message of the queue, or its credit, has changed. */
  #place(stream: Stream): void {
    const first = stream.queue[0];
    if (first === undefined) {
      stream.place = 'idle';
      if (stream.ending) this.#deps.ended(stream);
    } else if (first.kind === 'short') {
      stream.place = 'short';
      this.#short.add(stream);
    } else {
      stream.place = 'waiting';
      this.#waiting.add(stream);
    }
  }

  #passShort(): void {
    for (const stream of this.#short) {
      const first = stream.queue[0];
      if (first?.kind !== 'short') continue;
      if (this.#smallFull || this.#credit < first.atMost) return;
      this.#short.delete(stream);
      if (stream.credit < first.atMost) {
        stream.place = 'blocked';
        continue;
      }
      stream.queue.shift();
      stream.queuedBytes -= first.atMost;
      this.#append(stream, first.head, first.body);
      this.#place(stream);
    }
  }

  /** True when it brought a short message to the front of its stream's queue. */
  #passLong(): boolean {
    const { bulk } = this.#deps;
    const shortBefore = this.#short.size;
    this.#admitLong();
    bulk.cork();
    while (this.#sending.size > 0 && this.#credit > 0 && bulk.writableLength < BULK_LANE_BUFFER) {
      for (const stream of this.#sending) {
        this.#sending.delete(stream);
        this.#sendFrame(stream);
        break;
      }
    }
    bulk.uncork();
    return this.#short.size > shortBefore;
  }

  /** A long message begins only with credit enough to reach the first advance, so one that has begun always ends. */
  #admitLong(): void {
    for (const stream of this.#waiting) {
      const first = stream.queue[0];
      if (first?.kind !== 'long') continue;
      const { total } = first.message;
      if (stream.credit < Math.min(total, STREAM_WINDOW_BYTES / 2)) {
        this.#waiting.delete(stream);
        stream.place = 'blocked';
        continue;
      }
      if (this.#begun >= MAX_SENDING) return;
      if (this.#begun > 0 && this.#begunBytes + total > MAX_SENDING_BYTES) return;
      this.#waiting.delete(stream);
      this.#begun += 1;
      this.#begunBytes += total;
      stream.place = 'sending';
      this.#sending.add(stream);
    }
  }

  #sendFrame(stream: Stream): void {
    const first = stream.queue[0];
    if (first?.kind !== 'long') return;
    const { message } = first;
    const before = message.left;
    for (const piece of message.frame(Math.min(stream.credit, this.#credit, MAX_PAYLOAD_BYTES))) {
      this.#deps.bulk.write(piece);
    }
    const sent = before - message.left;
    stream.credit -= sent;
    stream.queuedBytes -= sent;
    this.#credit -= sent;
    if (message.left === 0) this.#longEnds(stream, message);
    else if (stream.credit > 0) this.#sending.add(stream);
    else stream.place = 'paused';
  }

  #longEnds(stream: Stream, message: LongMessage): void {
    this.#begun -= 1;
    this.#begunBytes -= message.total;
    stream.credit -= stream.advance;
    stream.advance = 0;
    stream.sendSeq += 1;
    stream.queue.shift();
    this.#place(stream);
    this.#admitLong();
  }
}
