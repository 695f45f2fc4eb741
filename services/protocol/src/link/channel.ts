// A pair of proved lanes as one multiplexed channel (design §4, §11): streams with order and credit over a small and a
// bulk lane. The same on both ends; only the gateway's end opens streams. It has no timers: heartbeat.ts watches it.

import type { Arrival } from './decoder.ts';
import type { Cancel, ControlHead, Credit, NodeState, Notify, StreamHead } from './frames.ts';
import { NO_BODY } from './frames.ts';
import { Inbox } from './inbox.ts';
import type { Lane } from './lane.ts';
import { Outbox } from './outbox.ts';
import { Stream, type StreamHandler } from './stream.ts';
import { StreamTable } from './stream-table.ts';
import { WireFault } from './wire-fault.ts';

export interface ChannelDeps {
  readonly small: Lane;
  readonly bulk: Lane;
  /** The node's end: a handler for a stream that the peer began with `head`. Absent at the gateway's end. */
  readonly accept?: (stream: Stream, head: StreamHead) => StreamHandler;
  readonly control: (head: Cancel | Notify | NodeState) => void;
  /** This stream's receiver holds most of what is too much: it must be ended (`leave`). */
  readonly tooSlow: (stream: Stream) => void;
  readonly failed: (stream: Stream, error: unknown) => void;
  /**
   * Runs it once the event at hand is dealt with, so that a burst is one write; when `crowded`, once all events at
   * hand are, since others will add to it.
   */
  readonly schedule: (run: () => void, crowded: boolean) => void;
  /** A cheap way to copy bytes for a socket. */
  readonly copy?: (bytes: Uint8Array) => Uint8Array;
}

/** From so many open streams on, a write waits for its neighbours. */
const CROWD = 4;
/** So many are a write of their own, or the other side would have nothing to do while a burst is collected. */
const BURST = 8;

/** Streams that the peer has closed or only half begun, kept for the message that was overtaken. */
const MAX_UNBEGUN = 1024;

export class Channel {
  readonly #deps: ChannelDeps;
  readonly #streams = new StreamTable();
  readonly #unbegun = new Set<Stream>();
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  #lastStream = 0;
  #scheduled = false;
  /** Messages since the last write. */
  #collected = 0;
  #ended = false;
  readonly #flush = () => {
    this.#scheduled = false;
    this.#collected = 0;
    if (!this.#ended) this.#outbox.flush();
  };

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
    this.#outbox = new Outbox({
      small: deps.small.socket,
      bulk: deps.bulk.socket,
      copy: deps.copy,
      touched: () => this.#touched(),
      ended: (stream) => this.#forget(stream),
    });
    this.#inbox = new Inbox({
      credit: (head) => this.#outbox.control(head),
      tooMuch: () => this.#endSlowest(),
      failed: deps.failed,
    });
    const sink = {
      control: (head: ControlHead) => this.#control(head),
      message: (arrival: Arrival) => this.#message(arrival),
      part: (stream: number, bytes: number) => this.#part(stream, bytes),
      aborted: (stream: number) => this.#aborted(stream),
    };
    deps.small.become(sink);
    deps.bulk.become(sink);
  }

  /** Streams that are open now. */
  get size(): number {
    return this.#streams.size - this.#unbegun.size;
  }

  /** Streams of which something but not the beginning has come. */
  get unbegun(): number {
    return this.#unbegun.size;
  }

  /** Bytes that receivers at this end hold. */
  get unconsumed(): number {
    return this.#inbox.unconsumed;
  }

  open(handler: StreamHandler): Stream {
    do this.#lastStream = this.#lastStream >= 0xffff_ffff ? 1 : this.#lastStream + 1;
    while (this.#streams.get(this.#lastStream) !== undefined);
    const stream = new Stream(this.#lastStream);
    stream.handler = handler;
    this.#streams.add(stream);
    return stream;
  }

  /** False when the message is larger than the link carries: nothing was sent. */
  send(stream: Stream, head: StreamHead, body: Uint8Array = NO_BODY): boolean {
    if (this.#ended || stream.ending) return true;
    const sent = this.#outbox.send(stream, head, body);
    this.#collected += 1;
    if (this.#collected >= BURST) this.flushSmall();
    return sent;
  }

  /** A few bytes that do not wait for credit: on the wire after `flushSmall`, at the latest when the burst ends. */
  promise(stream: Stream, head: StreamHead): void {
    if (this.#ended || stream.ending) return;
    if (stream.queue.length > 0) this.#outbox.send(stream, head, NO_BODY);
    else this.#outbox.sendAtOnce(stream, head);
  }

  /** Writes what is collected for the small lane without waiting for the end of the burst. */
  flushSmall(): void {
    this.#collected = 0;
    if (!this.#ended) this.#outbox.flushSmall();
  }

  control(head: ControlHead): void {
    if (!this.#ended) this.#outbox.control(head);
  }

  /** Nothing more will be sent; the stream is forgotten when the last byte is handed over. */
  finish(stream: Stream): void {
    if (!stream.ending) this.#outbox.end(stream);
  }

  /** No longer interested, in either direction: unsent bytes are dropped, later messages ignored. */
  leave(stream: Stream): void {
    if (this.#streams.get(stream.id) === undefined) return;
    this.#outbox.drop(stream);
    this.#forget(stream);
  }

  /** The gateway's way to leave: the node is told, unless it has never heard of the stream. */
  close(stream: Stream): void {
    if (this.#ended || this.#streams.get(stream.id) === undefined) return;
    this.#outbox.drop(stream);
    if (stream.sendSeq > 0) this.#outbox.sendAtOnce(stream, { kind: 'close', stream: stream.id });
    this.#forget(stream);
  }

  pending(stream: Stream): number {
    return this.#outbox.pending(stream);
  }

  drained(lane: 'small' | 'bulk'): void {
    if (lane === 'small') this.#outbox.smallDrained();
    this.#touched();
  }

  /** Ends both lanes and tells every stream. */
  end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#deps.small.end(reason);
    this.#deps.bulk.end(reason);
    const streams = this.#streams.all();
    const handlers = streams.map((stream) => stream.handler);
    for (const stream of streams) this.#inbox.forget(stream);
    this.#streams.clear();
    this.#unbegun.clear();
    for (const handler of handlers) handler?.broken(reason);
  }

  #touched(): void {
    if (this.#scheduled || this.#ended) return;
    this.#scheduled = true;
    this.#deps.schedule(this.#flush, this.#streams.size >= CROWD);
  }

  #control(head: ControlHead): void {
    switch (head.kind) {
      case 'credit':
        this.#granted(head);
        return;
      case 'cancel':
      case 'notify':
      case 'node':
        this.#deps.control(head);
        return;
      default:
        throw new WireFault('bad-frame', `${head.kind} on an open connection`);
    }
  }

  #granted(head: Credit): void {
    if (head.stream === 0) {
      this.#outbox.grantConnection(head.bytes);
      return;
    }
    const stream = this.#streams.get(head.stream);
    if (stream !== undefined) this.#outbox.grant(stream, head.bytes, head.advance === true);
  }

  #message(arrival: Arrival): void {
    this.#inbox.received(arrival.fresh);
    const begins = arrival.seq === 0;
    const stream = this.#streams.get(arrival.stream) ?? this.#unknown(arrival.stream, begins);
    if (stream === undefined) return;
    if (begins && stream.handler === null) this.#begin(stream, arrival.head as StreamHead);
    this.#inbox.arrived(stream, arrival);
  }

  #part(id: number, bytes: number): void {
    this.#inbox.received(bytes);
    const stream = this.#streams.get(id) ?? this.#unknown(id, false);
    if (stream !== undefined) this.#inbox.part(stream, bytes);
  }

  #aborted(id: number): void {
    const stream = this.#streams.get(id);
    if (stream !== undefined && this.#unbegun.has(stream)) this.#forget(stream);
  }

  #begin(stream: Stream, head: StreamHead): void {
    if (this.#unbegun.size > 0) this.#unbegun.delete(stream);
    // `accept` is there: only then are unknown streams kept.
    stream.handler = this.#deps.accept!(stream, head);
  }

  /** At the gateway: a stream it has left. At the node: a new one, perhaps seen by its second message first. */
  #unknown(id: number, begins: boolean): Stream | undefined {
    if (this.#deps.accept === undefined) return undefined;
    if (id === 0) throw new WireFault('bad-frame', 'stream 0 carries no messages');
    const stream = new Stream(id);
    this.#streams.add(stream);
    if (begins) return stream;
    this.#unbegun.add(stream);
    if (this.#unbegun.size > MAX_UNBEGUN) {
      for (const oldest of this.#unbegun) {
        this.#forget(oldest);
        break;
      }
    }
    return stream;
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream.id);
    if (this.#unbegun.size > 0) this.#unbegun.delete(stream);
    this.#inbox.forget(stream);
    stream.ending = true;
  }

  #endSlowest(): void {
    let slowest: Stream | null = null;
    for (const stream of this.#streams.all()) {
      if (slowest === null || stream.unconsumed > slowest.unconsumed) slowest = stream;
    }
    if (slowest !== null) this.#deps.tooSlow(slowest);
  }
}
