// The receiving half of a connection pair: puts the messages of each stream back in order (the small lane may overtake
// the bulk lane) and says what was consumed, so that the peer may send more. It never waits for one stream on behalf
// of another: what a stalled receiver holds is bounded by its stream's window, and by `tooMuch` for all together.

import type { Arrival } from './decoder.ts';
import type { Credit, StreamHead } from './frames.ts';
import type { Stream } from './stream.ts';
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from './version.ts';
import { WireFault } from './wire-fault.ts';

/** Grants are sent for this much at a time, so that short calls cost none. */
const STREAM_GRANT = STREAM_WINDOW_BYTES / 2;
const CONNECTION_GRANT = CONNECTION_WINDOW_BYTES / 4;
const MAX_EARLY = 8192;
const MAX_UNCONSUMED = (CONNECTION_WINDOW_BYTES / 4) * 3;

export interface InboxDeps {
  readonly credit: (head: Credit) => void;
  /** Receivers that do not consume hold too much together: one of them has to go. */
  readonly tooMuch: () => void;
  /** A receiver's promise was rejected, or it threw. */
  readonly failed: (stream: Stream, error: unknown) => void;
}

export class Inbox {
  readonly #deps: InboxDeps;
  #toGrant = 0;
  #unconsumed = 0;

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Bytes of any stream that came off the wire: the connection's own credit counts only what is on the way. */
  received(bytes: number): void {
    this.#toGrant += bytes;
    if (this.#toGrant < CONNECTION_GRANT) return;
    this.#deps.credit({ kind: 'credit', stream: 0, bytes: this.#toGrant });
    this.#toGrant = 0;
  }

  /** A part of a long message: its rest may come, whatever else the stream's receiver has not consumed. */
  part(stream: Stream, bytes: number): void {
    stream.toAdvance += bytes;
    if (stream.toAdvance < STREAM_GRANT) return;
    this.#deps.credit({ kind: 'credit', stream: stream.id, bytes: stream.toAdvance, advance: true });
    stream.toAdvance = 0;
  }

  arrived(stream: Stream, arrival: Arrival): void {
    if (arrival.total > arrival.fresh) stream.toAdvance = 0;
    if (arrival.seq !== stream.nextSeq) {
      this.#hold(stream, arrival);
      return;
    }
    this.#deliver(stream, arrival);
    for (let next = this.#early(stream); next !== undefined; next = this.#early(stream)) this.#deliver(stream, next);
  }

  /** The stream is over; what its receiver still holds no longer counts. */
  forget(stream: Stream): void {
    this.#unconsumed -= stream.unconsumed;
    stream.unconsumed = 0;
    stream.early = null;
    stream.handler = null;
  }

  get unconsumed(): number {
    return this.#unconsumed;
  }

  #early(stream: Stream): Arrival | undefined {
    if (stream.early === null) return undefined;
    const next = stream.early.get(stream.nextSeq);
    if (next !== undefined) stream.early.delete(stream.nextSeq);
    return next;
  }

  #hold(stream: Stream, arrival: Arrival): void {
    if (arrival.seq < stream.nextSeq) throw new WireFault('bad-frame', 'number used twice');
    stream.early ??= new Map();
    if (stream.early.size >= MAX_EARLY) throw new WireFault('hold-overflow', String(stream.id));
    stream.early.set(arrival.seq, arrival);
  }

  #deliver(stream: Stream, arrival: Arrival): void {
    stream.nextSeq += 1;
    const { handler } = stream;
    if (handler === null) return;
    let taking: undefined | Promise<void>;
    try {
      taking = handler.message(arrival.head as StreamHead, arrival.body);
    } catch (error) {
      this.#deps.failed(stream, error);
      return;
    }
    if (taking === undefined) this.#consumed(stream, arrival.total);
    else this.#await(stream, arrival.total, taking);
  }

  #await(stream: Stream, bytes: number, taking: Promise<void>): void {
    stream.unconsumed += bytes;
    this.#unconsumed += bytes;
    taking.then(
      () => this.#settled(stream, bytes),
      (error: unknown) => {
        this.#settled(stream, bytes);
        this.#deps.failed(stream, error);
      },
    );
    while (this.#unconsumed > MAX_UNCONSUMED) {
      const before = this.#unconsumed;
      this.#deps.tooMuch();
      if (this.#unconsumed >= before) return;
    }
  }

  #settled(stream: Stream, bytes: number): void {
    if (stream.unconsumed === 0) return;
    stream.unconsumed -= bytes;
    this.#unconsumed -= bytes;
    this.#consumed(stream, bytes);
  }

  #consumed(stream: Stream, bytes: number): void {
    if (stream.handler === null) return;
    stream.toGrant += bytes;
    if (stream.toGrant < STREAM_GRANT) return;
    this.#deps.credit({ kind: 'credit', stream: stream.id, bytes: stream.toGrant });
    stream.toGrant = 0;
  }
}
