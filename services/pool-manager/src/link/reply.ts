// One stream's way back to its gateway: the dispatcher's StreamReply over a channel. Numbers what a joiner may have
// missed (`seq` of the exchange), and lets exactly one ending through.

import type { Channel } from '@lockkeeper/protocol/link/channel';
import type { Fault, Result } from '@lockkeeper/protocol/link/frames';
import type { Stream } from '@lockkeeper/protocol/link/stream';
import type { StreamReply } from './contract.ts';

export interface ReplyDeps {
  /** Something was collected that must be written before anything goes upstream. */
  readonly promised: (channel: Channel) => void;
  readonly ended: () => void;
}

export class Reply implements StreamReply {
  readonly #channel: Channel;
  readonly #stream: Stream;
  readonly #deps: ReplyDeps;
  #seq: number;
  #started = false;
  #accepted = false;
  #over = false;

  /** `fromSeq`: what the joiner has already; the dispatcher sends from there on. */
  constructor(channel: Channel, stream: Stream, fromSeq: number, deps: ReplyDeps) {
    this.#channel = channel;
    this.#stream = stream;
    this.#seq = fromSeq;
    this.#deps = deps;
  }

  /** What goes upstream next may not be repeated elsewhere (design §4 `started`): this must be on the wire before. */
  started(): void {
    if (this.#over || this.#started) return;
    this.#started = true;
    this.#channel.promise(this.#stream, { kind: 'started', stream: this.#stream.id });
    this.#deps.promised(this.#channel);
  }

  accepted(): void {
    if (this.#over || this.#accepted) return;
    this.#accepted = true;
    this.#channel.send(this.#stream, { kind: 'accepted', stream: this.#stream.id });
  }

  event(method: string, members: Uint8Array, seq: number = this.#seq + 1): void {
    if (this.#over) return;
    this.#seq = seq;
    this.#channel.send(this.#stream, { kind: 'event', stream: this.#stream.id, seq: this.#seq, method }, members);
  }

  result(head: Omit<Result, 'kind' | 'stream' | 'seq'>, members: Uint8Array): void {
    if (this.#over) return;
    const seq = this.#seq + 1;
    if (!this.#channel.send(this.#stream, { kind: 'result', stream: this.#stream.id, seq, ...head }, members)) {
      this.fault({ reason: 'too-large', code: -32603, message: 'The result does not fit the link.', mayHaveRun: true });
      return;
    }
    this.#end();
  }

  fault(head: Omit<Fault, 'kind' | 'stream' | 'seq'>): void {
    if (this.#over) return;
    const { data, ...rest } = head;
    const fault = { kind: 'error' as const, stream: this.#stream.id, seq: this.#seq + 1 };
    if (!this.#channel.send(this.#stream, { ...fault, ...head }))
      this.#channel.send(this.#stream, { ...fault, ...rest });
    this.#end();
  }

  queuedBytes(): number {
    return this.#over ? 0 : this.#channel.pending(this.#stream);
  }

  /** The gateway is gone, or left: nothing more is sent. False when it had its ending already. */
  abandon(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#deps.ended();
    return true;
  }

  #end(): void {
    this.#over = true;
    this.#channel.finish(this.#stream);
    this.#deps.ended();
  }
}
