// One request of a legacy session and all it takes to get its answer (protocol.md §4.4): the POST, its reply, and where the
// server ended or lost the reply after an event that can be resumed from, as many GETs as it takes.

import type { RequestFailure } from '../../child/contract.ts';
import { RemoteError, type RemoteResponse } from '../contract.ts';
import type { RemoteHost } from '../host.ts';
import type { Outgoing } from '../outgoing.ts';
import { failureOfError, type Mark, type Refusal, type ReplyEnd, readReply } from '../reply/read-reply.ts';
import { failureOfStatus } from '../reply/status.ts';
import { speaksOfRequest } from './proof.ts';
import type { Session } from './session.ts';

export interface PostHooks {
  /** The server does not know the session. */
  lost(): void;
  /** Asks whether it does. */
  alive(): Promise<boolean>;
  failed(failure: RequestFailure): void;
  /** Once, when nothing of it is left. */
  over(): void;
}

const RETRY_MS = 1_000;
const MAX_RETRY_MS = 300_000;
/** A server that asks for none, and always has one more event, would keep a core busy. */
const MIN_RETRY_MS = 50;
/** Tries in a row that brought nothing new. */
const MAX_TRIES = 4;

export class Post {
  /** Not sent yet. */
  waits = true;
  /** Sent, and the server has not said anything. */
  unheard = true;
  private readonly host: RemoteHost;
  private readonly session: Session;
  private readonly out: Outgoing;
  private readonly hooks: PostHooks;
  private readonly leaving = new AbortController();
  private readonly mark: Mark = { lastEventId: null, retryMs: null };
  private ended = false;
  private closed = false;
  /** Of its reply, behind the answer. */
  get rest(): Promise<void> | undefined {
    return this.mark.rest;
  }

  constructor(host: RemoteHost, session: Session, out: Outgoing, hooks: PostHooks) {
    this.host = host;
    this.session = session;
    this.out = out;
    this.hooks = hooks;
  }

  /** Never rejects. */
  async run(first: Promise<void> | null): Promise<void> {
    try {
      if (first !== null) await first;
      if (!this.ended) await this.judge(await this.send());
    } catch (error) {
      if (error instanceof RemoteError) return this.fail(failureOfError(error));
      this.host.log.warn({ server: this.host.spec.name, err: error }, 'a reply was not read');
      this.fail({ kind: 'protocol', words: 'its reply could not be read', mayHaveRun: true });
    } finally {
      this.close();
    }
  }

  /** Nobody waits for it any more. */
  leave(): void {
    this.ended = true;
    this.leaving.abort();
    if (this.waits) this.close();
  }

  /** Later than now, as who sent it may not be ready to hear of it. */
  fail(failure: RequestFailure): void {
    if (this.ended) return;
    this.ended = true;
    this.leaving.abort();
    process.nextTick(() => this.hooks.failed(failure));
    this.close();
  }

  private close(): void {
    if (this.closed) return;
    this.closed = true;
    this.ended = true;
    this.waits = false;
    this.unheard = false;
    this.hooks.over();
  }

  private async send(): Promise<ReplyEnd> {
    const { host, session, out } = this;
    this.waits = false;
    host.beforeWrite();
    const response = await host.door.send({
      method: 'POST',
      headers: session.postHeaders(),
      body: out.bytes,
      signal: this.leaving.signal,
      // A reply that is no stream begins when the call is done, which its caller bounds.
      headersMs: 0,
      idleStreamMs: 0,
    });
    // Of a 404 it is not clear yet what it says.
    this.unheard = response.status === 404;
    if (out.method === 'initialize' && !session.opened(response)) {
      response.discard();
      const words = 'the session id that it gave cannot be sent back';
      return { kind: 'failed', failure: { kind: 'protocol', words, mayHaveRun: true } };
    }
    return this.read(response);
  }

  private async sessionIsGone(refusal: Refusal): Promise<boolean> {
    const { status } = refusal.failure;
    if (this.out.method === 'initialize') return false;
    // 404 says so (2511/http), but many servers say it of what they do not have.
    if (status === 404) return this.session.id !== null && !(speaksOfRequest(refusal) && (await this.hooks.alive()));
    return status === 400 && refusal.answer !== null && !(await this.hooks.alive());
  }

  private read(response: RemoteResponse): Promise<ReplyEnd> {
    const { host, session, out, mark } = this;
    return readReply(host, response, {
      id: out.id,
      mark,
      answer: (said) => {
        if (out.method === 'initialize') session.negotiated(said);
      },
    });
  }

  private async judge(end: ReplyEnd): Promise<void> {
    if (this.ended) return;
    switch (end.kind) {
      case 'answered':
        return;
      case 'cut':
        if (this.mark.lastEventId === null) return this.fail({ kind: 'lost', words: end.words, mayHaveRun: true });
        return this.judge(await this.resume());
      case 'failed':
        return this.fail(end.failure);
      case 'refused':
        if (await this.sessionIsGone(end)) return this.hooks.lost();
        if (end.answer === null) return this.fail(end.failure);
        if (!this.ended) this.host.events.line(end.answer.line, end.answer.found, this.out.id);
    }
  }

  /** Until the answer is there, or the server gives nothing new any more. The time for it is its caller's to limit. */
  private async resume(): Promise<ReplyEnd> {
    let words = '';
    for (let tries = 0; tries < MAX_TRIES; ) {
      const wished = Math.min(MAX_RETRY_MS, this.mark.retryMs ?? RETRY_MS);
      await this.pause(Math.max(MIN_RETRY_MS, wished * 2 ** tries));
      if (this.ended) return ANSWERED;
      const before = this.mark.lastEventId;
      const end = await this.resumed();
      if (end.kind !== 'cut') return end;
      words = end.words;
      tries = this.mark.lastEventId === before ? tries + 1 : 0;
    }
    return { kind: 'failed', failure: { kind: 'lost', words: `${words}, and could not be resumed`, mayHaveRun: true } };
  }

  private async resumed(): Promise<ReplyEnd> {
    try {
      const response = await this.host.door.send({
        method: 'GET',
        headers: this.session.getHeaders(this.mark.lastEventId),
        signal: this.leaving.signal,
        headersMs: this.host.http.idleStreamMs,
        idleStreamMs: 0,
      });
      const { status, headers } = response;
      if (status === 200) return await this.read(response);
      response.discard();
      const { words } = failureOfStatus({ status, headers, now: this.host.clock.now() });
      if (status === 429 || status >= 500) return { kind: 'cut', words };
      const failure: RequestFailure = { kind: 'lost', words: `its stream broke, and then ${words}`, mayHaveRun: true };
      return { kind: 'failed', failure };
    } catch (error) {
      if (error instanceof RemoteError) return { kind: 'cut', words: error.words };
      throw error;
    }
  }

  private pause(ms: number): Promise<void> {
    const { signal } = this.leaving;
    return new Promise((resolve) => {
      const done = () => {
        timer.clear();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.host.clock.setTimer(ms, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

const ANSWERED: ReplyEnd = { kind: 'answered' };
