// The reply to one POST that carried a request (protocol.md §2.4, §4.3, §4.4): one JSON message, or a stream of events of
// which one is the answer. What comes on the way is told as this request's own.

import { idOfLongLine } from '@lockkeeper/protocol/framing/long-line';
import type { LongLine } from '@lockkeeper/protocol/framing/ndjson';
import type { Clock } from '@lockkeeper/state/clock';
import type { RequestFailure } from '../../child/contract.ts';
import { RemoteError, type RemoteResponse } from '../contract.ts';
import { EventStream } from '../events/event-stream.ts';
import type { RemoteHost } from '../host.ts';
import { answers, errorFor, readSaid, type Said } from '../incoming.ts';
import { wholeBody } from './body.ts';
import { failureOfStatus } from './status.ts';

/** Where a stream was left, for who resumes it. */
export interface Mark {
  lastEventId: string | null;
  retryMs: number | null;
  /** Settles when what is left behind the answer has come, or is given up. */
  rest?: Promise<void>;
}

export type ReplyEnd =
  | { readonly kind: 'answered' }
  /** The stream is over, and the answer was not on it. */
  | { readonly kind: 'cut'; readonly words: string }
  /** No 2xx. `answer`: the error in its body, not told yet. */
  | Refusal
  | { readonly kind: 'failed'; readonly failure: RequestFailure };

export interface Refusal {
  readonly kind: 'refused';
  readonly failure: RequestFailure;
  readonly answer: Said | null;
  /** The error in the body names the request by its id: it is not said of something around it. */
  readonly own: boolean;
}

export interface ReplyOf {
  readonly id: number;
  readonly mark: Mark;
  /** The answer, before it is told. */
  answer?(said: Said): void;
}

const MAX_ERROR_BYTES = 256 * 1024;
/** How long the rest of a stream may take to end by itself, so that its connection can be used again. */
const LINGER_MS = 1_000;

/** Throws RemoteError where a reply of JSON breaks. */
export async function readReply(host: RemoteHost, response: RemoteResponse, of: ReplyOf): Promise<ReplyEnd> {
  const { status, headers } = response;
  const type = mediaType(headers.get('content-type'));
  if (status < 200 || status > 299) return readRefusal(host, response, of.id);
  if (type === 'text/event-stream') return readStream(host, response, of);
  if (type === 'application/json') return readOne(host, response, of);
  response.discard();
  if (status === 202 || status === 204) {
    return { kind: 'failed', failure: { ...failureOfStatus({ status, headers, now: 0 }), kind: 'protocol' } };
  }
  const shown = type === '' ? 'without a content type' : `with ${type.slice(0, 80)}`;
  return broken(`it answered ${shown}, not with JSON or an event stream`);
}

async function readOne(host: RemoteHost, response: RemoteResponse, of: ReplyOf): Promise<ReplyEnd> {
  const body = await wholeBody(response, host.maxLineBytes, host.valve);
  if (body === null) return tooLarge(host);
  const said = readSaid(body);
  if (typeof said === 'string') return broken(unreadable(said));
  const own = errorFor(of.id, said) ?? said;
  if (tell(host, own, of)) return { kind: 'answered' };
  return broken('its reply holds no answer to the request');
}

/** True: the answer was in it. */
function tell(host: RemoteHost, said: Said, of: ReplyOf): boolean {
  const answered = answers(said, of.id);
  if (answered) of.answer?.(said);
  host.events.line(said.line, said.found, of.id);
  return answered;
}

/** The rest of a stream whose beginning was read elsewhere, too. */
export async function readStream(host: RemoteHost, response: RemoteResponse, of: ReplyOf): Promise<ReplyEnd> {
  const state: { end: ReplyEnd | null } = { end: null };
  const stream = new EventStream(host.maxLineBytes, {
    event: (name, data) => {
      // The first event that can be resumed from has no data (2511/http).
      if (state.end !== null || data.length === 0 || (name !== '' && name !== 'message')) return;
      const said = readSaid(data);
      if (typeof said === 'string') host.events.fault(said, `event dropped: ${unreadable(said)}`);
      else if (tell(host, said, of)) state.end = { kind: 'answered' };
    },
    id: (id) => {
      of.mark.lastEventId = id;
    },
    retry: (ms) => {
      of.mark.retryMs = ms;
    },
    // It is this request's stream, and what is so large is hardly anything else than its answer.
    tooLong: () => {
      state.end ??= tooLarge(host);
    },
    endless: () => {
      state.end ??= tooLarge(host);
    },
  });
  const words = await pump(host, response, stream, () => state.end === null, of.mark);
  return state.end ?? { kind: 'cut', words };
}

/** Until no more is wanted, then lets the rest go; or until the end, in words. */
export async function pump(
  host: RemoteHost,
  response: RemoteResponse,
  stream: EventStream,
  more: () => boolean,
  mark?: Mark,
): Promise<string> {
  const chunks = response.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (host.valve.opened !== null) await host.valve.opened;
      if (done === true) return 'the stream of its reply ended before the answer';
      stream.push(value);
      host.spend(stream.events, value.length);
      if (!more()) {
        const rest = linger(chunks, response, host.clock);
        if (mark !== undefined) mark.rest = rest;
        return '';
      }
    }
  } catch (error) {
    response.discard();
    if (error instanceof RemoteError) return error.words;
    throw error;
  }
}

async function linger(chunks: AsyncIterator<Uint8Array>, response: RemoteResponse, clock: Clock): Promise<void> {
  const timer = clock.setTimer(LINGER_MS, () => response.discard());
  try {
    while ((await chunks.next()).done !== true);
  } catch {
    // Its answer is here; how the rest ends is nobody's concern.
  } finally {
    timer.clear();
  }
}

/** Of a reply that is no 2xx: an error of JSON-RPC is the answer, whatever the status (GB-096). */
export async function readRefusal(host: RemoteHost, response: RemoteResponse, id: number): Promise<Refusal> {
  const { status, headers } = response;
  const type = mediaType(headers.get('content-type'));
  const failure = failureOfStatus({ status, headers, now: host.clock.now() });
  if (type !== 'application/json' || failure.kind !== 'lost') {
    response.discard();
    return { kind: 'refused', failure, answer: null, own: false };
  }
  const said = await saidIn(host, response);
  const answer = said === null ? null : errorFor(id, said);
  return { kind: 'refused', failure, answer, own: said !== null && answers(said, id) };
}

async function saidIn(host: RemoteHost, response: RemoteResponse): Promise<Said | null> {
  try {
    const body = await wholeBody(response, Math.min(MAX_ERROR_BYTES, host.maxLineBytes), host.valve);
    const said = body === null ? null : readSaid(body);
    return typeof said === 'string' ? null : said;
  } catch (error) {
    if (error instanceof RemoteError) return null;
    throw error;
  }
}

/** Whose an event was that nobody read: told so that it need not wait (GB-032). */
export function tellTooLong(host: RemoteHost, event: LongLine): void {
  host.events.fault('line-too-long', `${event.bytes} bytes, ${host.maxLineBytes} are allowed`, idOfLongLine(event));
}

function tooLarge(host: RemoteHost): ReplyEnd {
  const words = `the answer is longer than limits.maxLineBytes (${host.maxLineBytes} bytes)`;
  return { kind: 'failed', failure: { kind: 'too-large', words, mayHaveRun: true } };
}

function broken(words: string): ReplyEnd {
  return { kind: 'failed', failure: { kind: 'protocol', words, mayHaveRun: true } };
}

function unreadable(why: 'not-utf8' | 'not-json'): string {
  return why === 'not-utf8' ? 'it is not UTF-8' : 'it is not a JSON message';
}

/** `''`: none. */
export function mediaType(value: string | undefined): string {
  return (value ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

const FULL_MS = 1_000;

/** What a request met on its way, in the terms of its caller. */
export function failureOfError(error: RemoteError): RequestFailure {
  if (error.kind === 'full') return { kind: 'busy', words: error.words, mayHaveRun: false, retryAfterMs: FULL_MS };
  const kind = error.sent ? 'lost' : 'unreachable';
  return { kind, words: error.words, mayHaveRun: error.sent };
}
