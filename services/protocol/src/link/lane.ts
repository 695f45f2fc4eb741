// One of the two sockets of a connection pair, once a connection exists: bytes in, checked messages out; answers pings
// and knows when the peer was heard last. It opens no socket and knows no streams.

import { encodeMessage } from './codec.ts';
import { type Arrival, FrameDecoder } from './decoder.ts';
import type { ControlHead } from './frames.ts';
import { NO_BODY } from './frames.ts';
import { headText } from './heads.ts';
import type { SendingSide } from './outbox.ts';
import { MAX_HELLO_BYTES, MAX_MESSAGE_BYTES } from './version.ts';
import { WireFault } from './wire-fault.ts';

export interface LaneSocket extends SendingSide {
  destroy(): unknown;
}

export interface LaneSink {
  control(head: ControlHead): void;
  message(arrival: Arrival): void;
  part(stream: number, bytes: number): void;
  aborted(stream: number): void;
}

export interface LaneDeps {
  readonly socket: LaneSocket;
  readonly now: () => number;
  /** Called once, whatever ended it. */
  readonly broken: (reason: string) => void;
}

export class Lane {
  readonly socket: LaneSocket;
  readonly #deps: LaneDeps;
  readonly #decoder: FrameDecoder;
  #sink: LaneSink;
  #ended = false;
  heardAt: number;

  /** `sink` is the handshake's; `become` hands the lane on. */
  constructor(deps: LaneDeps, sink: LaneSink) {
    this.#deps = deps;
    this.socket = deps.socket;
    this.#sink = sink;
    this.heardAt = deps.now();
    this.#decoder = new FrameDecoder(
      {
        message: (arrival) => this.#message(arrival),
        part: (stream, bytes) => this.#sink.part(stream, bytes),
        aborted: (stream) => this.#sink.aborted(stream),
      },
      MAX_HELLO_BYTES,
    );
  }

  become(sink: LaneSink): void {
    this.#sink = sink;
    this.#decoder.allow(MAX_MESSAGE_BYTES);
  }

  get ended(): boolean {
    return this.#ended;
  }

  received(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.heardAt = this.#deps.now();
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      this.end(error instanceof WireFault ? error.message : `receiver failed: ${String(error)}`);
    }
  }

  /** Control frames that belong to this lane itself: hello, ping. */
  control(head: ControlHead): void {
    if (this.#ended) return;
    for (const piece of encodeMessage(0, 0, headText(head), NO_BODY)) this.socket.write(piece);
  }

  end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#decoder.close();
    this.socket.destroy();
    this.#deps.broken(reason);
  }

  #message(arrival: Arrival): void {
    const { head } = arrival;
    switch (head.kind) {
      case 'ping':
        if (!head.reply) this.control({ kind: 'ping', n: head.n, reply: true });
        return;
      case 'hello':
      case 'cancel':
      case 'notify':
      case 'credit':
      case 'node':
        if (arrival.stream !== 0) throw new WireFault('bad-frame', `${head.kind} on a stream`);
        this.#sink.control(head);
        return;
      default:
        if (arrival.stream !== head.stream) throw new WireFault('bad-frame', `${head.kind} on another stream`);
        this.#sink.message(arrival);
    }
  }
}
