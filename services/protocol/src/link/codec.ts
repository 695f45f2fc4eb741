// Messages to frames (design §11). A frame is a fixed header and a part of one message; a message is its head's text
// followed by its body. Frames of different messages may alternate, so a megabyte does not stand before small ones.
// decoder.ts is the way back.
//
//     0 flags            FIRST 1, MORE 2, ABORT 4
//     1 payload (u24)    bytes of this frame after the header
//     4 stream (u32)     0: the whole connection
//     8 seq (u32)        of the message within its stream and direction; not the `seq` of an exchange
//    12 head (u32)       bytes of the head; FIRST only, else 0
//    16 total (u32)      bytes of head and body; FIRST only, else 0

import { copyOf, put, room } from '../json/bytes.ts';
import { MAX_FRAME_BYTES } from './version.ts';

export const HEADER_BYTES = 20;
export const MAX_PAYLOAD_BYTES = MAX_FRAME_BYTES - HEADER_BYTES;
export const FIRST = 1;
export const MORE = 2;
/** The message so far is void: its sender no longer sends it. */
export const ABORT = 4;

const encoder = new TextEncoder();

function put32(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
}

function putHeader(
  out: Uint8Array,
  at: number,
  first: { readonly flags: number; readonly payload: number },
  address: { readonly stream: number; readonly seq: number },
  sizes: { readonly head: number; readonly total: number },
): void {
  put32(out, at, (first.flags << 24) | first.payload);
  put32(out, at + 4, address.stream);
  put32(out, at + 8, address.seq);
  put32(out, at + 12, sizes.head);
  put32(out, at + 16, sizes.total);
}

/** Upper bound of a message's bytes, without encoding it. */
export function atMost(head: string, body: Uint8Array): number {
  return head.length * 3 + body.length;
}

/** Collects short messages so that one burst is one write. */
export class FrameBuffer {
  readonly #bytes = room(MAX_FRAME_BYTES);
  readonly #copy: (bytes: Uint8Array) => Uint8Array;
  #length = 0;
  #full: Uint8Array[] = [];

  /** `copy` makes what is given to the socket; a runtime may have a cheaper way. */
  constructor(copy: (bytes: Uint8Array) => Uint8Array = copyOf) {
    this.#copy = copy;
  }

  /** Appends a message of one frame; `atMost` must be below MAX_PAYLOAD_BYTES. Returns its payload's bytes. */
  append(stream: number, seq: number, head: string, body: Uint8Array): number {
    if (this.#length + HEADER_BYTES + atMost(head, body) > MAX_FRAME_BYTES) this.#spill();
    const at = this.#length + HEADER_BYTES;
    const headBytes = put(this.#bytes, at, head);
    if (body.length > 0) this.#bytes.set(body, at + headBytes);
    const total = headBytes + body.length;
    const out = this.#bytes;
    const start = this.#length;
    put32(out, start, (FIRST << 24) | total);
    put32(out, start + 4, stream);
    put32(out, start + 8, seq);
    put32(out, start + 12, headBytes);
    put32(out, start + 16, total);
    this.#length = at + total;
    return total;
  }

  get empty(): boolean {
    return this.#length === 0 && this.#full.length === 0;
  }

  /** All collected bytes, each piece for one write; the buffer is empty afterwards. */
  take(): Uint8Array[] {
    this.#spill();
    const pieces = this.#full;
    this.#full = [];
    return pieces;
  }

  #spill(): void {
    if (this.#length === 0) return;
    this.#full.push(this.#copy(this.#bytes.subarray(0, this.#length)));
    this.#length = 0;
  }
}

/** A long message on its way: cut into frames as its stream's turns and credit allow. */
export class LongMessage {
  readonly stream: number;
  readonly seq: number;
  readonly total: number;
  readonly #head: Uint8Array;
  readonly #body: Uint8Array;
  #sent = 0;

  constructor(stream: number, seq: number, head: string, body: Uint8Array) {
    this.stream = stream;
    this.seq = seq;
    this.#head = encoder.encode(head);
    this.#body = body;
    this.total = this.#head.length + body.length;
  }

  get headBytes(): number {
    return this.#head.length;
  }

  get left(): number {
    return this.total - this.#sent;
  }

  get begun(): boolean {
    return this.#sent > 0;
  }

  /** The next frame of at most `budget` payload bytes, as pieces to be written in order; the body is not copied. */
  frame(budget: number): Uint8Array[] {
    const payload = Math.min(this.left, budget, MAX_PAYLOAD_BYTES);
    const first = this.#sent === 0;
    const flags = (first ? FIRST : 0) | (payload < this.left ? MORE : 0);
    const ofHead = Math.min(payload, Math.max(0, this.#head.length - this.#sent));
    const lead = new Uint8Array(HEADER_BYTES + ofHead);
    const sizes = first ? { head: this.#head.length, total: this.total } : { head: 0, total: 0 };
    putHeader(lead, 0, { flags, payload }, this, sizes);
    lead.set(this.#head.subarray(this.#sent, this.#sent + ofHead), HEADER_BYTES);
    const bodyAt = Math.max(0, this.#sent - this.#head.length);
    this.#sent += payload;
    if (ofHead === payload) return [lead];
    return [lead, this.#body.subarray(bodyAt, bodyAt + payload - ofHead)];
  }

  /** Tells the receiver to forget what it has of this message. */
  abort(): Uint8Array {
    const frame = new Uint8Array(HEADER_BYTES);
    putHeader(frame, 0, { flags: ABORT, payload: 0 }, this, { head: 0, total: 0 });
    return frame;
  }
}

/** One message as frames, for whoever has neither turns nor credit to keep. */
export function encodeMessage(stream: number, seq: number, head: string, body: Uint8Array): Uint8Array[] {
  const message = new LongMessage(stream, seq, head, body);
  const pieces: Uint8Array[] = [];
  while (message.left > 0) pieces.push(...message.frame(MAX_PAYLOAD_BYTES));
  return pieces;
}
