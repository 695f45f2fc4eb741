// The form of one modern answer (protocol.md §2.4): JSON unless something has to be streamed, and the choice kept open
// as long as it can be, so that 400 for -32021 stays possible. SSE begins with the first event the client asked for;
// after a hold when it asked for events or takes nothing but SSE; and after one keep-alive period of silence, when
// proxies would cut a mute connection (GB-074, GB-075). Never for a client that takes JSON only (GB-147).

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { HttpOut, SseStream } from '../http/contract.ts';

export interface ModernReply {
  /** Sends an event, or drops it: the client takes no stream, or reads too slowly (both are lossy kinds). */
  event(frame: Uint8Array): void;
  /** The one last message. `status` and `headers` count only while nothing has been sent. */
  finish(status: number, frame: readonly Uint8Array[], headers?: Record<string, string>): void;
  /** Nobody is there any more. */
  drop(): void;
  readonly streaming: boolean;
}

export interface ReplyTimes {
  readonly holdMs: number;
  readonly keepAliveMs: number;
}

/** What may wait in front of a slow reader before events are left out (design §5 "Back-pressure"). */
const EVENT_BUFFER_BYTES = 256 * 1024;

function bodyOf(frame: readonly Uint8Array[]): Uint8Array | readonly Uint8Array[] {
  return frame.length === 1 ? frame[0]! : frame;
}

export function createModernReply(
  out: HttpOut,
  clock: Pick<Clock, 'setTimer'>,
  times: ReplyTimes,
  wantsEvents: boolean,
): ModernReply {
  return new Reply(out, clock, times, wantsEvents);
}

/** A class, since one is made for every call: a literal with a getter in it makes a shape of its own each time. */
class Reply implements ModernReply {
  private readonly out: HttpOut;
  private readonly timer: Timer | null;
  private stream: SseStream | null = null;
  private ended = false;

  constructor(out: HttpOut, clock: Pick<Clock, 'setTimer'>, times: ReplyTimes, wantsEvents: boolean) {
    const { json, sse } = out.accepts;
    this.out = out;
    this.timer = sse
      ? clock.setTimer(wantsEvents || !json ? times.holdMs : times.keepAliveMs, () => {
          if (!this.ended) this.open();
        })
      : null;
  }

  get streaming(): boolean {
    return this.stream !== null;
  }

  event(frame: Uint8Array): void {
    if (this.ended || !this.out.accepts.sse) return;
    const target = this.open();
    if (target.bufferedBytes < EVENT_BUFFER_BYTES) target.send(frame);
  }

  finish(status: number, frame: readonly Uint8Array[], headers?: Record<string, string>): void {
    if (this.ended) return;
    this.drop();
    const { out, stream } = this;
    if (stream === null && (out.accepts.json || status !== 200)) {
      out.json(status, bodyOf(frame), headers);
      return;
    }
    const target = stream ?? out.sse();
    target.send(bodyOf(frame));
    target.end();
  }

  drop(): void {
    this.ended = true;
    this.timer?.clear();
  }

  private open(): SseStream {
    this.timer?.clear();
    this.stream ??= this.out.sse();
    return this.stream;
  }
}
