// A reply as its reader sees it: plain headers, a body whose failures have words, and a way to be rid of it.

import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RemoteError, type RemoteResponse } from '../contract.ts';
import { failureOf, GIVEN_UP } from './failure.ts';
import { responseHeaders } from './headers.ts';

/** What is read to keep a connection; of more than that the connection is given up instead. */
const DUMP_BYTES = 64 * 1024;

export function responseOf(data: Dispatcher.ResponseData, host: string, signal: AbortSignal): RemoteResponse {
  const headers = responseHeaders(data.headers);
  let gone = false;
  return {
    status: data.statusCode,
    headers,
    body: bodyOf(data.body, host, signal),
    discard() {
      if (gone) return;
      gone = true;
      discardBody(data, headers.get('content-type') ?? '');
    },
  };
}

/** A stream of events may never end: only closing it says that nobody listens. */
export function discardBody(data: Dispatcher.ResponseData, contentType: string): void {
  if (data.body.destroyed || data.body.readableEnded) return;
  data.body.on('error', () => {});
  const stream = contentType.startsWith('text/event-stream');
  if (stream || data.body.readableFlowing !== null) data.body.destroy();
  else data.body.dump({ limit: DUMP_BYTES }).catch(() => {});
}

async function* bodyOf(body: Readable, host: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw signal.aborted ? new RemoteError('aborted', GIVEN_UP, true) : failureOf(error, host, true);
  }
}
