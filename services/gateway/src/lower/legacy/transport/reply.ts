// The one reply to a POST (protocol.md §3.2): JSON unless something must stream. It becomes SSE at the first event,
// or when nothing has been answered within limits.holdMs, so that proxies see life on slow calls (GB-075). A client
// that has left gets nothing more, and its calls go on (a disconnect is not a cancel).
//
// A cancelled request gets no response. Published SDK clients of both kinds take an SSE stream that ends without one,
// and 202 where they cannot take SSE; their waiters are gone by then.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { HttpOut, SseStream } from '../../../http/contract.ts';
import type { Response } from '../contract.ts';
import { arrayText } from '../text.ts';
import type { Form } from './form.ts';

export interface Reply {
  event(notification: Uint8Array): void;
  answer(response: Response): void;
  /** After the last answer. */
  end(): void;
  /** Somebody else replies. */
  abandon(): void;
  /** The client has left. */
  readonly gone: boolean;
}

export interface ReplyTerms {
  readonly form: Form;
  readonly batch: boolean;
  readonly holdMs: number;
  /** Asked for when the reply is committed. */
  readonly headers?: (form: 'json' | 'sse') => Record<string, string>;
}

/** Events beyond this much unread text are dropped; responses never are. */
const MAX_EVENT_BACKLOG = 1024 * 1024;

export function createReply(out: HttpOut, terms: ReplyTerms, clock: Clock): Reply {
  let stream: SseStream | null = null;
  let gone = false;
  const waiting: Uint8Array[] = [];
  const timer: Timer | null = terms.form === 'json' ? null : clock.setTimer(terms.holdMs, open);

  out.onVanish(() => {
    gone = true;
    timer?.clear();
  });

  function open(): void {
    if (stream !== null || gone || out.committed) return;
    stream = out.sse(terms.headers?.('sse'));
    for (const response of waiting.splice(0)) stream.send(response);
  }

  function endJson(): void {
    if (waiting.length === 0) out.empty(202);
    else out.json(200, terms.batch ? arrayText(waiting) : waiting[0]!, terms.headers?.('json'));
  }

  return {
    event(notification) {
      if (gone || terms.form === 'json') return;
      open();
      if (stream !== null && stream.bufferedBytes <= MAX_EVENT_BACKLOG) stream.send(notification);
    },
    answer(response) {
      if (response === null || gone) return;
      if (stream !== null) stream.send(response);
      else waiting.push(response);
    },
    end() {
      timer?.clear();
      if (gone) return;
      if (terms.form === 'sse' || (terms.form === 'either' && waiting.length === 0)) open();
      if (stream !== null) stream.end();
      else endJson();
    },
    abandon() {
      timer?.clear();
    },
    get gone() {
      return gone;
    },
  };
}
