// A legacy server over Streamable HTTP (protocol.md §4.4): one session from `initialize` to DELETE. Everything it is sent is
// a POST; what it says comes on the replies, where it belongs to the request, and on its own stream, where it is nobody's.

import type { Timer } from '@lockkeeper/state/clock';
import type { Line, RequestFailure } from '../../child/contract.ts';
import { RemoteError } from '../contract.ts';
import { failed, type RemoteHost } from '../host.ts';
import { cancelledId, type Outgoing, outgoing } from '../outgoing.ts';
import type { Life, Transport } from '../remote-child.ts';
import { GetStream } from './get-stream.ts';
import { Post } from './post.ts';
import { isAlive } from './proof.ts';
import { Session } from './session.ts';

/** How long the reply to a cancelled request may still end by itself: then its session is quiet (design §5 "Taint"). */
const LATE_MS = 3_000;
/** How long others that were sent to a lost session may take to hear of it too. */
const LOSING_MS = 1_000;
const DELETE_MS = 3_000;
/** How long calls wait for the server's own stream to stand. */
const STREAM_MS = 500;
/** How long they wait for their level to be taken: one that comes late would lose their first messages. */
const LEVEL_MS = 1_000;
/** Answers on their way to it: over stdio its pipe would be full long before (design §5 "Back-pressure"). */
const MAX_ANSWERS = 256;
const OVERRUN = 'it asks faster than it takes the answers';
const ENDED = 'the server does not know its session any more';

export class StreamableTransport implements Transport {
  private readonly host: RemoteHost;
  private readonly life: Life;
  private readonly session = new Session();
  private readonly posts = new Map<number, Post>();
  private readonly late = new Set<Timer>();
  private readonly leaving = new AbortController();
  private stream: GetStream | null = null;
  /** `initialize`. */
  private first: Post | null = null;
  /** On its way, and nothing may overtake it: HTTP keeps no order of its own. */
  private ahead: Promise<void> | null = null;
  private losing: Timer | null = null;
  private answers = 0;
  private finishing = false;

  constructor(host: RemoteHost, life: Life) {
    this.host = host;
    this.life = life;
  }

  send(message: Line): boolean {
    const out = outgoing(message);
    if (out.kind === 'request') this.request(out);
    else if (out.method === 'notifications/initialized') this.inFront(this.introduce(out));
    else this.aside(out);
    return true;
  }

  takes(): boolean {
    return true;
  }

  forget(id: number): void {
    this.posts.get(id)?.leave();
  }

  private request(out: Outgoing): void {
    const post = new Post(this.host, this.session, out, {
      lost: () => this.lost(post),
      alive: () => isAlive(this.host, this.session, this.leaving.signal),
      failed: (failure) => failed(this.host, out.id, failure),
      over: () => this.over(out.id),
    });
    this.posts.set(out.id, post);
    if (out.method === 'initialize') this.first = post;
    if (this.losing !== null) {
      post.fail(gone(false));
      return;
    }
    const over = post.run(this.ahead);
    if (out.method === 'logging/setLevel') this.inFront(this.orLater(over, LEVEL_MS));
  }

  /** What is sent from now on waits for it, behind what already does. */
  private inFront(done: Promise<void>): void {
    const ahead = done.then(() => {
      if (this.ahead === ahead) this.ahead = null;
    });
    this.ahead = ahead;
  }

  private over(id: number): void {
    this.posts.delete(id);
    if (this.losing !== null && !this.othersUnheard) this.finish();
  }

  /** Its server knows the session no more. What was not heard yet is not executed either, as it will say by itself. */
  private lost(first: Post | null): void {
    first?.fail(gone(false));
    if (this.life.ended || this.losing !== null) return;
    this.losing = this.host.clock.setTimer(LOSING_MS, () => this.finish());
    if (!this.othersUnheard) this.finish();
  }

  private get othersUnheard(): boolean {
    for (const post of this.posts.values()) if (post.unheard) return true;
    return false;
  }

  private finish(): void {
    if (this.life.ended || this.finishing) return;
    this.finishing = true;
    for (const post of [...this.posts.values()]) post.fail(gone(true));
    this.session.id = null;
    this.life.end('session-ended', ENDED);
  }

  private async introduce(out: Outgoing): Promise<void> {
    // On the same connection as `initialize`, where that can be had: its rest is waited for.
    await this.first?.rest;
    await this.tell(out);
    if (!this.life.ended) {
      const stream = new GetStream(this.host, this.session, () => this.lost(null));
      this.stream = stream;
      void stream.open();
      // Many servers ask there what belongs to a call, and drop it while there is no stream.
      await this.orLater(stream.tried, STREAM_MS);
    }
    this.first = null;
  }

  private orLater(settled: Promise<void>, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.host.clock.setTimer(ms, resolve);
      void settled.then(() => {
        timer.clear();
        resolve();
      });
    });
  }

  /** Answers, cancels, progress: beside the requests, and in the order in which they come to the server. */
  private aside(out: Outgoing): void {
    const cancelled = cancelledId(out);
    const post = cancelled === null ? undefined : this.posts.get(cancelled);
    // It was not sent yet, so there is nothing to be said about it.
    if (post?.waits === true) {
      post.leave();
      return;
    }
    if (out.kind === 'response') this.answer(out);
    else void this.tell(out);
    if (post === undefined) return;
    const timer = this.host.clock.setTimer(LATE_MS, () => {
      this.late.delete(timer);
      post.leave();
    });
    this.late.add(timer);
  }

  private answer(out: Outgoing): void {
    if (this.answers >= MAX_ANSWERS) {
      this.life.end('stopped', OVERRUN);
      return;
    }
    this.answers++;
    void this.tell(out).then(() => this.answers--);
  }

  /** Never rejects. Sent twice only if it surely did not arrive. */
  private async tell(out: Outgoing, again = true): Promise<void> {
    const { host } = this;
    try {
      host.beforeWrite();
      const response = await host.door.send({
        method: 'POST',
        headers: this.session.postHeaders(),
        body: out.bytes,
        signal: this.leaving.signal,
      });
      response.discard();
      const { status } = response;
      if (status === 404 && this.session.id !== null) this.lost(null);
      else if (status > 299) this.untold(out, `HTTP ${status}`);
    } catch (error) {
      if (this.leaving.signal.aborted) return;
      if (error instanceof RemoteError && !error.sent && again) return this.tell(out, false);
      this.untold(out, error instanceof RemoteError ? error.words : String(error));
    }
  }

  private untold({ method, kind }: Outgoing, why: string): void {
    const what = kind === 'response' ? 'an answer' : method;
    this.host.log.warn({ server: this.host.spec.name, what, why }, 'a message did not reach the server');
  }

  async leave(): Promise<void> {
    this.losing?.clear();
    for (const timer of this.late) timer.clear();
    this.stream?.close();
    this.leaving.abort();
    for (const post of [...this.posts.values()]) post.leave();
    await this.goodbye();
  }

  /** 405: the server ends its sessions itself. */
  private async goodbye(): Promise<void> {
    if (this.session.id === null) return;
    const signal = new AbortController();
    const timer = this.host.clock.setTimer(DELETE_MS, () => signal.abort());
    try {
      const headers = this.session.own();
      const response = await this.host.door.send({ method: 'DELETE', headers, signal: signal.signal });
      response.discard();
    } catch {
      // It will find out by itself that nobody comes back.
    } finally {
      timer.clear();
    }
  }
}

function gone(mayHaveRun: boolean): RequestFailure {
  return { kind: 'session', words: ENDED, mayHaveRun };
}
