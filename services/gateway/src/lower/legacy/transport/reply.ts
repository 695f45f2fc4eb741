// The one reply to a POST (protocol.md §3.2): JSON unless something must stream. It becomes SSE at the first event or
// question, or when nothing has been answered within limits.holdMs, so that proxies see life on slow calls (GB-075). A
// client that has left gets nothing more here, and its calls go on (a disconnect is not a cancel).
//
// A cancelled request gets no response. Published SDK clients of both kinds take an SSE stream that ends without one,
// and 202 where they cannot take SSE; their waiters are gone by then.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { HttpOut, SseStream } from '../../../http/contract.ts';
import type { Message, Response, Voice } from '../contract.ts';
import { type Channel, plainChannel } from '../stream/channel.ts';
import { arrayText } from '../text.ts';
import type { Form } from './form.ts';

export interface Reply {
  /** Null when the client takes JSON only. */
  readonly voice: Voice | null;
  answer(xid: string, response: Response): void;
  /** After the last answer. */
  end(): void;
  /** Somebody else replies. */
  abandon(): void;
  /** The client has left. */
  gone(): boolean;
}

export interface ReplyTerms {
  readonly form: Form;
  readonly batch: boolean;
  readonly holdMs: number;
  /** The client polls: the stream ends this long after the POST (2025-11-25). */
  readonly closeAfterMs?: number | undefined;
  /** Asked for when the reply is committed. */
  readonly headers?: (form: 'json' | 'sse') => Record<string, string>;
  /** How the stream is written, once it is one; default: to the socket alone. */
  readonly channel?: ((socket: SseStream) => Channel) | undefined;
  readonly failed: (what: string, error: unknown) => void;
}

export function createReply(out: HttpOut, terms: ReplyTerms, clock: Clock): Reply {
  let channel: Channel | null = null;
  let gone = false;
  let left = false;
  const waiting: { readonly xid: string; readonly response: Message | null }[] = [];
  const streams = terms.form !== 'json';
  const timers: Timer[] = streams ? [clock.setTimer(terms.holdMs, () => open())] : [];
  if (streams && terms.closeAfterMs !== undefined) timers.push(clock.setTimer(terms.closeAfterMs, poll));

  out.onVanish(() => {
    gone = true;
    stop();
    channel?.vanish();
  });

  function stop(): void {
    for (const timer of timers) timer.clear();
  }

  function open(): void {
    begin(terms.channel ?? plainChannel);
  }

  function begin(make: (socket: SseStream) => Channel): void {
    if (channel !== null || gone || out.committed) return;
    channel = make(out.sse(terms.headers?.('sse')));
    for (const { xid, response } of waiting.splice(0)) respond(channel, xid, response);
  }

  function poll(): void {
    open();
    channel?.poll().catch((error: unknown) => terms.failed('stream end', error));
  }

  function respond(to: Channel, xid: string, response: Message | null): void {
    to.write({ kind: 'response', xid, text: response ?? '' }).catch(unheard);
  }

  function endJson(): void {
    const responses = said();
    if (responses.length === 0) out.empty(202);
    else out.json(200, terms.batch ? arrayText(responses) : responses[0]!, terms.headers?.('json'));
  }

  function said(): Message[] {
    return waiting.flatMap(({ response }) => (response === null ? [] : [response]));
  }

  const voice: Voice = {
    event(xid, seq, text) {
      open();
      channel?.write({ kind: 'event', xid, seq: seq ?? null, text }).catch(unheard);
    },
    async say(text, name) {
      open();
      if (channel === null) throw new Error('the client left before its stream began');
      await channel.write({ kind: 'said', name, text });
    },
  };

  return {
    voice: streams ? voice : null,
    answer(xid, response) {
      if (response === 'left') left = true;
      else if (channel !== null) respond(channel, xid, response);
      else if (!gone) waiting.push({ xid, response });
    },
    end() {
      stop();
      // All is said at once: there will be nothing to resume.
      if (terms.form === 'sse' || (terms.form === 'either' && said().length === 0)) begin(plainChannel);
      const ending = left ? channel?.leave() : channel?.end();
      if (ending !== undefined) ending.catch((error: unknown) => terms.failed('stream end', error));
      else if (!gone) endJson();
    },
    abandon: stop,
    gone: () => gone,
  };
}

/** The client has left: there is nobody to hear it. */
function unheard(): void {
  // its calls go on all the same
}
