// A server of 2024-11-05 (protocol.md §4.5): one stream on which it says everything, and an endpoint of its choice at the
// same origin for everything it is sent. What is lost with the stream is the session.

import type { Timer } from '@lockkeeper/state/clock';
import type { ExitReason, Line, RequestFailure } from '../../child/contract.ts';
import { RemoteError, type RemoteResponse } from '../contract.ts';
import { EventStream } from '../events/event-stream.ts';
import { failed, type RemoteHost } from '../host.ts';
import { answered, readSaid } from '../incoming.ts';
import { cancelledId, type Outgoing, outgoing } from '../outgoing.ts';
import type { Life, Transport } from '../remote-child.ts';
import { failureOfError, mediaType, pump, readRefusal, tellTooLong } from '../reply/read-reply.ts';
import { failureOfStatus } from '../reply/status.ts';
import { endpointOf } from './endpoint.ts';

/** What is sent before the endpoint is known. */
const MAX_EARLY = 64;
/** Requests without an answer: they hold no connection, only memory. */
const MAX_OPEN = 1024;
/** Answers on their way to it: over stdio its pipe would be full long before (design §5 "Back-pressure"). */
const MAX_ANSWERS = 256;
/** How long the reply to a POST may come after the answer on the stream. */
const LATE_MS = 3_000;

export class SseTransport implements Transport {
  private readonly host: RemoteHost;
  private readonly life: Life;
  private readonly leaving = new AbortController();
  private readonly early: Outgoing[] = [];
  /** Requests without an answer; each ends the wait for the reply to its POST. */
  private readonly open = new Map<number, AbortController>();
  private readonly late = new Set<Timer>();
  private answers = 0;
  private endpoint: string | null = null;
  /** On its way, and nothing may overtake it: HTTP keeps no order of its own. */
  private ahead: Promise<void> | null = null;
  private deadline: Timer | null;

  constructor(host: RemoteHost, life: Life) {
    this.host = host;
    this.life = life;
    const { startTimeoutMs } = host.spec;
    this.deadline = host.clock.setTimer(startTimeoutMs, () =>
      life.end('spawn-failed', `it did not name its endpoint within ${startTimeoutMs} ms`),
    );
    void this.listen();
  }

  send(message: Line): boolean {
    const out = outgoing(message);
    if (this.endpoint === null && this.early.length >= MAX_EARLY) return false;
    if (out.kind === 'request') this.open.set(out.id, new AbortController());
    const cancelled = cancelledId(out);
    if (cancelled !== null) this.close(cancelled);
    if (this.endpoint === null) this.early.push(out);
    else this.write(out);
    return true;
  }

  takes(): boolean {
    return this.open.size < MAX_OPEN;
  }

  forget(id: number): void {
    this.settled(id);
  }

  private write(out: Outgoing): void {
    if (out.kind === 'response' && this.answers >= MAX_ANSWERS) {
      this.life.end('stopped', 'it asks faster than it takes the answers');
      return;
    }
    if (out.kind === 'response') this.answers++;
    const sent = this.ahead === null ? this.post(out) : this.ahead.then(() => this.post(out));
    if (out.kind === 'response') void sent.then(() => this.answers--);
    if (out.method !== 'notifications/initialized' && out.method !== 'logging/setLevel') return;
    const ahead = sent.then(() => {
      if (this.ahead === ahead) this.ahead = null;
    });
    this.ahead = ahead;
  }

  /** Never rejects. */
  private async post(out: Outgoing, again = true): Promise<void> {
    if (this.life.ended) return;
    const { host } = this;
    const own = this.open.get(out.id);
    const signal = own === undefined ? this.leaving.signal : AbortSignal.any([this.leaving.signal, own.signal]);
    try {
      host.beforeWrite();
      const response = await host.door.send({
        method: 'POST',
        url: this.endpoint!,
        headers: { 'content-type': 'application/json' },
        body: out.bytes,
        signal,
        // Some servers reply to the POST when the call is done, a person's answers included; its caller bounds that.
        ...(own === undefined ? {} : { headersMs: 0 }),
      });
      if (response.status >= 200 && response.status <= 299) response.discard();
      else await this.refused(out, response);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RemoteError)) {
        host.log.warn({ server: host.spec.name, err: error }, 'a message could not be sent');
        return this.fail(out.id, { kind: 'protocol', words: 'its reply could not be read', mayHaveRun: true });
      }
      if (!error.sent && again) return this.post(out, false);
      this.fail(out.id, failureOfError(error));
    }
  }

  private async refused(out: Outgoing, response: RemoteResponse): Promise<void> {
    // Whoever named the endpoint knows it: if nothing is there now, its session is gone.
    if (response.status === 404) {
      response.discard();
      const words = 'the server does not know its session any more';
      this.fail(out.id, { kind: 'session', words, mayHaveRun: false });
      return this.life.end('session-ended', words);
    }
    const { answer, failure } = await readRefusal(this.host, response, out.id);
    if (answer === null || !this.open.has(out.id)) return this.fail(out.id, failure);
    this.settled(out.id);
    this.host.events.line(answer.line, answer.found);
  }

  private fail(id: number, failure: RequestFailure): void {
    if (id !== 0 && this.settled(id)) failed(this.host, id, failure);
  }

  private settled(id: number): boolean {
    if (!this.close(id)) return false;
    this.host.events.room?.();
    return true;
  }

  private close(id: number): boolean {
    const own = this.open.get(id);
    if (own === undefined) return false;
    this.open.delete(id);
    const timer = this.host.clock.setTimer(LATE_MS, () => {
      this.late.delete(timer);
      own.abort();
    });
    this.late.add(timer);
    return true;
  }

  /** Never rejects. */
  private async listen(): Promise<void> {
    const { host } = this;
    try {
      const response = await host.streamDoor.send({
        method: 'GET',
        headers: { accept: 'text/event-stream' },
        signal: this.leaving.signal,
        // It may have nothing to say for long, and its end would be the session's (GB-073).
        idleStreamMs: 0,
      });
      const { status, headers } = response;
      if (status !== 200 || mediaType(headers.get('content-type')) !== 'text/event-stream') {
        response.discard();
        const { words } = failureOfStatus({ status, headers, now: host.clock.now() });
        return this.life.end('spawn-failed', status === 200 ? 'it did not answer with an event stream' : words);
      }
      const words = await this.read(response);
      this.life.end(
        'session-ended',
        words === '' ? 'it sent an event without end' : 'its stream, and with it its session, ended',
      );
    } catch (error) {
      if (!(error instanceof RemoteError))
        host.log.warn({ server: host.spec.name, err: error }, 'a stream was not read');
      const words = error instanceof RemoteError ? error.words : 'its stream could not be read';
      this.life.end(this.endpoint === null ? 'spawn-failed' : 'session-ended', words);
    }
  }

  private read(response: RemoteResponse): Promise<string> {
    const { host } = this;
    let readable = true;
    const stream = new EventStream(host.maxLineBytes, {
      event: (name, data) => {
        if (name === 'endpoint') this.named(Buffer.from(data).toString('utf8'));
        else if (data.length > 0 && (name === '' || name === 'message')) this.said(data);
      },
      id: () => {},
      retry: () => {},
      tooLong: (event) => tellTooLong(host, event),
      endless: (begun) => {
        readable &&= begun;
      },
    });
    return pump(host, response, stream, () => readable && !this.life.ended);
  }

  /** The first one counts: a server that moves would take what is on its way. */
  private named(text: string): void {
    if (this.endpoint !== null) return;
    const endpoint = endpointOf(this.host.http.url, text);
    if (endpoint === null) {
      this.life.end('spawn-failed', 'the endpoint that it names is at another origin, or no URL');
      return;
    }
    this.deadline?.clear();
    this.deadline = null;
    this.endpoint = endpoint;
    for (const out of this.early.splice(0)) this.write(out);
  }

  private said(data: Uint8Array): void {
    const { host } = this;
    const said = readSaid(data);
    if (typeof said === 'string') {
      host.events.fault(said, 'an event of the stream was dropped');
      return;
    }
    for (const id of answered(said)) this.settled(id);
    host.events.line(said.line, said.found);
  }

  async leave(kind: ExitReason['kind'], words: string): Promise<void> {
    const failure: RequestFailure = { kind: 'session', words, mayHaveRun: true };
    const open = kind === 'session-ended' ? [...this.open.keys()] : [];
    this.open.clear();
    if (open.length > 0) process.nextTick(() => open.forEach((id) => void failed(this.host, id, failure)));
    this.deadline?.clear();
    for (const timer of this.late) timer.clear();
    this.early.length = 0;
    this.leaving.abort();
  }
}
