// One stream of the link: what outbox.ts and inbox.ts each keep about it. A stream is one call, or one listen, on one
// connection pair; its messages are numbered per direction, so that two lanes keep one order.

import type { LongMessage } from './codec.ts';
import type { Arrival } from './decoder.ts';
import type { StreamHead } from './frames.ts';
import { STREAM_WINDOW_BYTES } from './version.ts';

export interface StreamHandler {
  /** In order. A promise holds back the credit for these bytes until it settles: only this stream then stops. */
  message(head: StreamHead, body: Uint8Array): undefined | Promise<void>;
  /** The connection is gone; nothing more comes. */
  broken(reason: string): void;
}

export interface ShortMessage {
  readonly kind: 'short';
  readonly head: string;
  readonly body: Uint8Array;
  readonly atMost: number;
}

export interface QueuedLong {
  readonly kind: 'long';
  readonly message: LongMessage;
}

/**
 * Where the stream stands with the outbox: nothing to send; next message is short and has its turn coming; long and
 * not begun; begun and taking turns; begun and out of credit; not begun and out of credit.
 */
export type Place = 'idle' | 'short' | 'waiting' | 'sending' | 'paused' | 'blocked';

export class Stream {
  readonly id: number;
  handler: StreamHandler | null = null;

  // Written by the outbox only.
  place: Place = 'idle';
  sendSeq = 0;
  credit = STREAM_WINDOW_BYTES;
  /** Credit of the kind that ends with the long message being sent. */
  advance = 0;
  readonly queue: (ShortMessage | QueuedLong)[] = [];
  queuedBytes = 0;
  /** Forget the stream once its queue is empty. */
  ending = false;

  // Written by the inbox only.
  nextSeq = 0;
  early: Map<number, Arrival> | null = null;
  unconsumed = 0;
  toGrant = 0;
  toAdvance = 0;

  constructor(id: number) {
    this.id = id;
  }
}
