// The form of one modern answer (protocol.md §2.4): JSON unless something has to be streamed, and the choice kept open
// as long as it can be, so that 400 for -32021 stays possible. SSE begins with the first event the client asked for;
// after a hold when it asked for events or takes nothing but SSE; and after one keep-alive period of silence, when
// proxies would cut a mute connection (GB-074, GB-075). Never for a client that takes JSON only (GB-147).

import { concat } from '@lockkeeper/protocol/json/compose';
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
  const { json, sse } = out.accepts;
  let stream: SseStream | null = null;
  let ended = false;
  const open = (): SseStream => {
    timer?.clear();
    stream ??= out.sse();
    return stream;
  };
  const timer: Timer | null = sse
    ? clock.setTimer(wantsEvents || !json ? times.holdMs : times.keepAliveMs, () => {
        if (!ended) open();
      })
    : null;
  return {
    get streaming() {
      return stream !== null;
    },
    event(frame) {
      if (ended || !sse) return;
      const target = open();
      if (target.bufferedBytes < EVENT_BUFFER_BYTES) target.send(frame);
    },
    finish(status, frame, headers) {
      if (ended) return;
      ended = true;
      timer?.clear();
      if (stream === null && (json || status !== 200)) return out.json(status, bodyOf(frame), headers);
      const target = stream ?? out.sse();
      target.send(frame.length === 1 ? frame[0]! : concat(frame));
      target.end();
    },
    drop() {
      ended = true;
      timer?.clear();
    },
  };
}
