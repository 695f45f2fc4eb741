// The server's own stream (protocol.md §4.4): opened after the introduction, taken up again where it was left, and given up
// without a word where the server has none. What comes on it is nobody's call's. A server that fails it again and again is
// asked more and more seldom (GB-068).

import type { Timer } from '@lockkeeper/state/clock';
import { RemoteError, type RemoteResponse } from '../contract.ts';
import { EventStream } from '../events/event-stream.ts';
import type { RemoteHost } from '../host.ts';
import { readSaid } from '../incoming.ts';
import { type Mark, mediaType, pump, tellTooLong } from '../reply/read-reply.ts';
import type { Session } from './session.ts';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A server that asks for none would keep a core busy with its streams. */
const MIN_RETRY_MS = 250;
/** A server may ask for patience, not for ever. */
const MAX_RETRY_MS = 300_000;
/** One that stood so long ends the row of failures. */
const SETTLED_MS = 30_000;

export class GetStream {
  private readonly host: RemoteHost;
  private readonly session: Session;
  private readonly lost: () => void;
  private readonly leaving = new AbortController();
  private readonly mark: Mark = { lastEventId: null, retryMs: null };
  private timer: Timer | null = null;
  private failures = 0;
  /** It was there once: then a 404 is the session's end and no lack of the server's. */
  private stood = false;

  /** The first try was answered, in whatever way. */
  readonly tried: Promise<void>;
  private readonly settled: () => void;

  /** `lost`: the server does not know the session any more. */
  constructor(host: RemoteHost, session: Session, lost: () => void) {
    this.host = host;
    this.session = session;
    this.lost = lost;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tried = promise;
    this.settled = resolve;
  }

  /** Never rejects. */
  async open(): Promise<void> {
    const openedAt = this.host.clock.now();
    let again = true;
    try {
      again = await this.stand();
    } catch (error) {
      if (!(error instanceof RemoteError)) {
        this.host.log.warn({ server: this.host.spec.name, err: error }, 'a stream was not read');
      }
    }
    this.settled();
    if (!again || this.leaving.signal.aborted) return;
    if (this.host.clock.now() - openedAt >= SETTLED_MS) this.failures = 0;
    // Its own wish is the least (2511/http); what fails again and again waits longer.
    const first = Math.max(MIN_RETRY_MS, Math.min(MAX_RETRY_MS, this.mark.retryMs ?? FIRST_PAUSE_MS));
    const pause = Math.max(first, Math.min(MAX_PAUSE_MS, first * 2 ** Math.min(this.failures++, 10)));
    this.timer = this.host.clock.setTimer(pause, () => {
      this.timer = null;
      void this.open();
    });
  }

  close(): void {
    this.leaving.abort();
    this.timer?.clear();
  }

  /** False: there is none to be had. */
  private async stand(): Promise<boolean> {
    const { host, mark } = this;
    const response = await host.streamDoor.send({
      method: 'GET',
      headers: this.session.getHeaders(mark.lastEventId),
      signal: this.leaving.signal,
      // Some servers send their first byte with their first event; and one that has nothing to say may be silent for ever.
      headersMs: host.http.idleStreamMs,
      idleStreamMs: 0,
    });
    this.settled();
    const { status, headers } = response;
    if (status === 200 && mediaType(headers.get('content-type')) === 'text/event-stream') {
      this.stood = true;
      await this.read(response);
      return true;
    }
    response.discard();
    if (status === 404 && this.stood && this.session.id !== null) this.lost();
    return status === 429 || status >= 500;
  }

  private async read(response: RemoteResponse): Promise<void> {
    const { host, mark } = this;
    let readable = true;
    const stream = new EventStream(host.maxLineBytes, {
      event: (name, data) => {
        // Something came: a server that ends its streams on purpose is no failing one.
        this.failures = 0;
        if (data.length === 0 || (name !== '' && name !== 'message')) return;
        const said = readSaid(data);
        if (typeof said === 'string') host.events.fault(said, 'an event of the stream was dropped');
        else host.events.line(said.line, said.found, 0);
      },
      id: (id) => {
        mark.lastEventId = id;
      },
      retry: (ms) => {
        mark.retryMs = ms;
      },
      tooLong: (event) => tellTooLong(host, event),
      endless: (begun) => {
        readable &&= begun;
      },
    });
    await pump(host, response, stream, () => readable);
  }
}
