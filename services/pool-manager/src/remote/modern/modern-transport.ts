// A modern server by URL (protocol.md §4.3): one POST a request, its reply an answer or a stream, nothing between them but
// what the bodies carry. It has no session that could be lost; to cancel is to let go of the reply, and nothing is sent.

import { findMember } from '@lockkeeper/protocol/json/scan';
import type { Line } from '../../child/contract.ts';
import { RemoteError } from '../contract.ts';
import { failed, type RemoteHost } from '../host.ts';
import { cancelledId, type Outgoing, outgoing } from '../outgoing.ts';
import type { Life, Transport } from '../remote-child.ts';
import { failureOfError, type ReplyEnd, readReply } from '../reply/read-reply.ts';
import { isModern, looksOlder } from './proof.ts';
import { requestHeaders } from './request-headers.ts';
import type { KnownTools } from './tool-headers.ts';

export class ModernTransport implements Transport {
  private readonly host: RemoteHost;
  private readonly life: Life;
  private readonly tools: KnownTools;
  private readonly posts = new Map<number, AbortController>();

  constructor(host: RemoteHost, life: Life, tools: KnownTools) {
    this.host = host;
    this.life = life;
    this.tools = tools;
  }

  send(message: Line): boolean {
    const out = outgoing(message);
    const cancelled = cancelledId(out);
    if (cancelled !== null) this.forget(cancelled);
    // A modern server is sent requests and nothing else that we have (protocol.md §4.1, Part 7 #8).
    else if (out.kind === 'request') void this.post(out);
    return true;
  }

  takes(): boolean {
    return true;
  }

  forget(id: number): void {
    this.posts.get(id)?.abort();
  }

  async leave(): Promise<void> {
    for (const post of this.posts.values()) post.abort();
  }

  /** Never rejects. */
  private async post(out: Outgoing): Promise<void> {
    const { host } = this;
    const leaving = new AbortController();
    this.posts.set(out.id, leaving);
    try {
      const end = await this.exchange(out, leaving.signal);
      if (!leaving.signal.aborted) await this.settle(out, end, leaving.signal);
    } catch (error) {
      if (!(error instanceof RemoteError))
        host.log.warn({ server: host.spec.name, err: error }, 'a reply was not read');
      if (leaving.signal.aborted) return;
      const words = 'its reply could not be read';
      const failure = error instanceof RemoteError ? failureOfError(error) : null;
      failed(host, out.id, failure ?? { kind: 'protocol', words, mayHaveRun: true });
    } finally {
      this.posts.delete(out.id);
    }
  }

  private async exchange(out: Outgoing, signal: AbortSignal): Promise<ReplyEnd> {
    const { host } = this;
    host.beforeWrite();
    const door = out.method === 'subscriptions/listen' ? host.streamDoor : host.door;
    const response = await door.send({
      method: 'POST',
      headers: requestHeaders(out, this.tools),
      body: out.bytes,
      signal,
      // A reply that is no stream begins when the call is done, which its caller bounds; a listen may have nothing to say.
      headersMs: 0,
      idleStreamMs: 0,
    });
    return readReply(host, response, {
      id: out.id,
      mark: { lastEventId: null, retryMs: null },
      answer: ({ line, found }) => {
        if (out.method !== 'tools/list') return;
        this.tools.learn(line, found.result, findMember(out.params, 'cursor') === undefined);
      },
    });
  }

  private async settle(out: Outgoing, end: ReplyEnd, signal: AbortSignal): Promise<void> {
    const { host } = this;
    const { id } = out;
    switch (end.kind) {
      case 'answered':
        return;
      case 'cut':
        // Nothing can be resumed in this era (26/changelog 9).
        failed(host, id, { kind: 'lost', words: end.words, mayHaveRun: true });
        return;
      case 'failed':
        failed(host, id, end.failure);
        return;
      case 'refused':
        if (looksOlder(out, end) && !(await isModern(host, out, signal))) return this.older(id);
        if (signal.aborted) return;
        if (end.answer === null) failed(host, id, end.failure);
        else host.events.line(end.answer.line, end.answer.found, id);
        return;
    }
  }

  /** Another server has taken its place: the next start finds out which (protocol.md §4.2 "re-probe on contradiction"). */
  private older(id: number): void {
    const words = 'it does not answer as a modern server any more';
    failed(this.host, id, { kind: 'session', words, mayHaveRun: false });
    this.life.end('session-ended', words);
  }
}
