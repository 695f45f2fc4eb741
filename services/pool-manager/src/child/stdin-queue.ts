// Messages on their way into a child (auth-security I-12). Bounded; the pipe's back-pressure shows as a growing queue. A
// child that takes nothing for a while although something waits is stalled, and whoever made the queue ends it.

import type { Writable } from 'node:stream';
import { oneLine } from '@lockkeeper/protocol/framing/ndjson';
import type { Clock, Timer } from '@lockkeeper/state/clock';

const MAX_MESSAGES = 256;
const MAX_BYTES = 8 * 1024 * 1024;
/** Up to here a message is copied to get its newline; above, two buffers are written as one. */
const COPIED_BYTES = 16 * 1024;
const NEWLINE = Buffer.from('\n');

export interface StdinQueueDeps {
  readonly clock: Clock;
  readonly stallMs: number;
  readonly stalled: () => void;
}

export class StdinQueue {
  private readonly stream: Writable;
  private readonly deps: StdinQueueDeps;
  private messages = 0;
  private bytes = 0;
  private closed = false;
  private movedAt = 0;
  private timer: Timer | null = null;

  constructor(stream: Writable, deps: StdinQueueDeps) {
    this.stream = stream;
    this.deps = deps;
  }

  /** False: over the bound or closed. One message larger than the bound goes when nothing else waits. */
  send(message: Uint8Array): boolean {
    if (this.closed || this.messages >= MAX_MESSAGES) return false;
    if (this.messages > 0 && this.bytes + message.length > MAX_BYTES) return false;
    if (this.messages === 0) this.movedAt = this.deps.clock.now();
    this.messages++;
    this.bytes += message.length;
    this.write(oneLine(message));
    this.timer ??= this.watch(this.deps.stallMs);
    return true;
  }

  /** What is queued is still written, then the child sees the end of its input. */
  end(): void {
    if (!this.closed) this.stream.end();
    this.close();
  }

  /** Nothing more is taken, nothing more is watched. */
  close(): void {
    this.closed = true;
    this.timer?.clear();
    this.timer = null;
  }

  private write(message: Uint8Array): void {
    const written = () => {
      this.messages--;
      this.bytes -= message.length;
      this.movedAt = this.deps.clock.now();
    };
    if (message.length <= COPIED_BYTES) {
      const line = Buffer.allocUnsafe(message.length + 1);
      line.set(message);
      line[message.length] = NEWLINE[0]!;
      this.stream.write(line, written);
      return;
    }
    this.stream.cork();
    this.stream.write(message);
    this.stream.write(NEWLINE, written);
    this.stream.uncork();
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
