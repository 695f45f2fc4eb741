// Messages on their way into a child (auth-security I-12). What one event brings is one write (design §11), and what it
// promises must be on the wire before it. Bounded; the pipe's back-pressure shows as a growing queue. A child that takes
// nothing for a while although something waits is stalled, and whoever made the queue ends it.

import type { Writable } from 'node:stream';
import { oneLine } from '@lockkeeper/protocol/framing/ndjson';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Line } from '../contract.ts';

/** What `takes` allows; `send` refuses at twice as much, which leaves room for what must not wait, such as a cancel. */
const MAX_MESSAGES = 256;
const MAX_BYTES = 8 * 1024 * 1024;
/** So much is copied to be one write; a larger message is written by itself, uncopied. */
const COPIED_BYTES = 64 * 1024;
const LF = 0x0a;
const NEWLINE = Buffer.from('\n');

export interface StdinQueueDeps {
  readonly clock: Clock;
  readonly stallMs: number;
  readonly stalled: () => void;
  /** Right before each write. */
  readonly beforeWrite: () => void;
  /** `takes` has said no, and may say yes now. */
  readonly room: () => void;
}

export class StdinQueue {
  private readonly stream: Writable;
  private readonly deps: StdinQueueDeps;
  /** Not handed to the pipe yet. */
  private waiting: Line[] = [];
  /** Not taken by the pipe yet. */
  private messages = 0;
  private bytes = 0;
  private writing = false;
  private scheduled = false;
  private closed = false;
  private refused = false;
  private movedAt = 0;
  private timer: Timer | null = null;

  constructor(stream: Writable, deps: StdinQueueDeps) {
    this.stream = stream;
    this.deps = deps;
  }

  /** One message larger than the bound goes when nothing else waits. */
  takes(bytes: number): boolean {
    const fits = !this.closed && this.within(bytes, 1);
    this.refused ||= !fits;
    return fits;
  }

  /** False: over the bound or closed. */
  send(message: Line): boolean {
    const bytes = bytesOf(message);
    if (this.closed || !this.within(bytes, 2)) return false;
    if (this.messages === 0) this.movedAt = this.deps.clock.now();
    this.messages++;
    this.bytes += bytes;
    this.waiting.push(message instanceof Uint8Array ? oneLine(message) : message.map(oneLine));
    this.timer ??= this.watch(this.deps.stallMs);
    if (!this.writing && !this.scheduled) {
      this.scheduled = true;
      process.nextTick(() => {
        this.scheduled = false;
        if (!this.writing && !this.closed) this.write();
      });
    }
    return true;
  }

  /** What is queued is still written, then the child sees the end of its input. */
  end(): void {
    if (this.closed) return;
    while (this.waiting.length > 0) this.write();
    this.stream.end();
    this.close();
  }

  /** Nothing more is taken, nothing more is watched. */
  close(): void {
    this.closed = true;
    this.waiting = [];
    this.timer?.clear();
    this.timer = null;
  }

  private within(bytes: number, times: number): boolean {
    if (this.messages >= MAX_MESSAGES * times) return false;
    return this.messages === 0 || this.bytes + bytes <= MAX_BYTES * times;
  }

  /** The next write: one long message, or as many short ones as are worth a copy. */
  private write(): void {
    const first = this.waiting[0];
    if (first === undefined) return;
    this.writing = true;
    this.deps.beforeWrite();
    if (!isShort(first)) {
      this.waiting.shift();
      this.stream.cork();
      for (const piece of first instanceof Uint8Array ? [first] : first) this.stream.write(piece);
      this.stream.write(NEWLINE, () => this.written(1, bytesOf(first)));
      this.stream.uncork();
      return;
    }
    const short: Uint8Array[] = [];
    let length = 0;
    for (const message of this.waiting) {
      if (!isShort(message) || length + message.length + 1 > COPIED_BYTES) break;
      length += message.length + 1;
      short.push(message);
    }
    this.waiting.splice(0, short.length);
    const lines = Buffer.allocUnsafe(length);
    let at = 0;
    for (const message of short) {
      lines.set(message, at);
      at += message.length;
      lines[at++] = LF;
    }
    this.stream.write(lines, () => this.written(short.length, length - short.length));
  }

  private written(messages: number, bytes: number): void {
    this.messages -= messages;
    this.bytes -= bytes;
    this.movedAt = this.deps.clock.now();
    this.writing = false;
    if (this.closed) return;
    this.write();
    if (!this.refused) return;
    this.refused = false;
    this.deps.room();
  }

  /** One timer at most, and none while nothing waits. */
  private watch(ms: number): Timer {
    return this.deps.clock.setTimer(ms, () => {
      this.timer = null;
      if (this.closed || this.messages === 0) return;
      const left = this.movedAt + this.deps.stallMs - this.deps.clock.now();
      if (left > 0) this.timer = this.watch(left);
      else this.deps.stalled();
    });
  }
}

function bytesOf(message: Line): number {
  return message instanceof Uint8Array ? message.length : message.reduce((sum, piece) => sum + piece.length, 0);
}

function isShort(message: Line): message is Uint8Array {
  return message instanceof Uint8Array && message.length < COPIED_BYTES;
}
