// One child's pipe as JSON-RPC: our own rising ids, waiters matched strictly, everything else handed on or dropped and
// counted (protocol.md §4.7, GB-082). A waiter is settled once: by its answer, by the end of the child, or by whoever
// abandons it. Knows no era.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { findMember, type Member, membersOf, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { PROGRESS_TOKEN } from '@lockkeeper/protocol/mcp/meta';
import type { Child, ChildEvents, ExitReason, RequestFailure, Spawn } from '../../child/contract.ts';
import type { Log } from '../contract.ts';
import { notificationLine, requestLine, responseLine } from './line.ts';
import { LineUp, type LineUpDeps, type Turn } from './line-up.ts';
import { type Incoming, messagesOf, numberOf, type Response, type ScannedLine, scanLine } from './message.ts';

export interface Waiter {
  answered(line: Uint8Array, response: Response): void;
  /** `params` of a progress notification that carries this request's token. */
  progressed?(line: Uint8Array, params: readonly Member[]): void;
  /** The answer came, but cannot be used: wrong id, or its line was over the cap. */
  spoiled(kind: 'protocol' | 'too-large', words: string): void;
  lost(exit: ExitReason): void;
  /** No answer will come, though its server lives on (over HTTP). Without it the waiter is told `lost`. */
  failed?(failure: RequestFailure): void;
}

export interface WireListener {
  /** `of`: the request of ours on whose reply it came, 0 for nobody's, undefined where nothing tells. */
  notification(line: Uint8Array, method: string, params: Member | undefined, of?: number): void;
  /** `id` is the raw text, to be echoed as it came. */
  request(line: Uint8Array, id: string, method: string, params: Member | undefined, of?: number): void;
}

/** Most cancelled ids whose late answers are still told apart from strangers'. */
const MAX_ABANDONED = 1000;
/** Ends a process that writes lines over the cap again and again (design ruling 1). */
const MAX_LONG_LINES = 3;
const UNREADABLE = 'the server’s answer cannot be read';

export class Wire {
  readonly closed: Promise<ExitReason>;
  listener: WireListener = { notification: () => {}, request: () => {} };
  private readonly child: Child;
  private readonly lineUp: LineUp;
  private readonly log: Log;
  private readonly server: string;
  private readonly waiters = new Map<number, Waiter>();
  private readonly abandoned = new Set<number>();
  private readonly counts = new Map<string, number>();
  private nextId = 1;
  private forgotten = false;
  private longLines = 0;
  private exit: ExitReason | null = null;

  constructor(spec: ServerSpec, spawn: Spawn, log: Log, lineUp: LineUpDeps) {
    this.log = log;
    this.server = spec.name;
    const { promise, resolve } = Promise.withResolvers<ExitReason>();
    this.closed = promise;
    const events: ChildEvents = {
      line: (line, found, of) => this.read(line, of, found),
      failed: (id, failure) => this.failed(id, failure),
      fault: (kind, detail, id) => this.childFault(kind, detail, id ?? null),
      room: () => this.lineUp.serve(),
      exit: (reason) => {
        resolve(reason);
        this.ended(reason);
      },
    };
    this.lineUp = new LineUp(lineUp, (bytes) => this.child.takes(bytes));
    this.child = spawn(spec, events);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get pending(): number {
    return this.waiters.size;
  }

  /** True while a cancelled request has given no sign of having ended. */
  get unquiet(): boolean {
    return this.forgotten || this.abandoned.size > 0;
  }

  get exited(): ExitReason | null {
    return this.exit;
  }

  stderrTail(): string {
    return this.child.stderrTail();
  }

  /** Tells the turn to go when its request may be sent: at once, as long as the child reads. */
  enter(turn: Turn): void {
    if (this.exit === null) this.lineUp.enter(turn);
    else turn.go();
  }

  /** False: it went already, or was refused. */
  leave(turn: Turn): boolean {
    return this.lineUp.leave(turn);
  }

  /** The id under which it was sent, which is its progress token too; 0 when the child takes no more. */
  request(method: string, meta: (id: number) => string, params: Uint8Array, waiter: Waiter): number {
    if (this.exit !== null) return 0;
    const id = this.nextId++;
    if (!this.child.send(requestLine(id, method, meta(id), params))) return 0;
    this.waiters.set(id, waiter);
    return id;
  }

  notify(method: string, params: string): boolean {
    return this.exit === null && this.child.send(notificationLine(method, params));
  }

  respond(id: string, body: string | Uint8Array): boolean {
    return this.exit === null && this.child.send(responseLine(id, body));
  }

  /** Forgets the waiter; with `words`, tells the server (never for `initialize`, protocol.md §3.5). */
  abandon(id: number, words: string | null): void {
    if (!this.waiters.delete(id) || this.exit !== null) return;
    if (words === null) {
      this.child.forget?.(id);
      return;
    }
    if (this.abandoned.size < MAX_ABANDONED) this.abandoned.add(id);
    else this.forgotten = true;
    this.notify('notifications/cancelled', JSON.stringify({ requestId: id, reason: words }));
  }

  /** Something came that has no place; said in the log the first time and then now and again. */
  count(what: string): void {
    const n = (this.counts.get(what) ?? 0) + 1;
    this.counts.set(what, n);
    if (n === 1 || n % 1000 === 0) this.log.warn({ server: this.server, what, count: n }, 'server broke the protocol');
  }

  stop(why: string, how?: 'now'): Promise<void> {
    return this.child.stop(why, how);
  }

  private read(line: Uint8Array, of: number | undefined, found: ScannedLine = scanLine(line)): void {
    for (const message of messagesOf(line, found)) this.take(line, message, of);
  }

  private take(line: Uint8Array, message: Incoming, of: number | undefined): void {
    switch (message.kind) {
      case 'response':
        this.response(line, message, of);
        return;
      case 'notification':
        if (message.method === 'notifications/progress') {
          this.progress(line, message.params);
          return;
        }
        this.listener.notification(line, message.method, message.params, of);
        return;
      case 'request':
        this.listener.request(line, textOf(line, message.id), message.method, message.params, of);
        return;
      case 'invalid': {
        this.count(message.why);
        const id = message.answers === undefined ? undefined : numberOf(line, message.answers);
        if (id !== undefined) this.settle(id, UNREADABLE);
        return;
      }
    }
  }

  private response(line: Uint8Array, message: Response, of: number | undefined): void {
    const id = message.id === undefined ? undefined : numberOf(line, message.id);
    const waiter = id === undefined ? undefined : this.waiters.get(id);
    if (waiter === undefined) {
      this.unmatched(line, message, id);
      return;
    }
    this.waiters.delete(id!);
    // It came another way than its own: nothing more is to be waited for there.
    if (of !== undefined && of !== id) this.child.forget?.(id!);
    if ((message.result === undefined) === (message.error === undefined)) {
      const both = message.result === undefined ? 'neither result nor error' : 'result and error';
      waiter.spoiled('protocol', `the server sent ${both} in one answer`);
      return;
    }
    waiter.answered(line, message);
  }

  private unmatched(line: Uint8Array, message: Response, id: number | undefined): void {
    if (id !== undefined && this.abandoned.delete(id)) return;
    if (id !== undefined && id > 0) {
      this.count(id < this.nextId ? 'answered an id twice' : 'answered an id that was never sent');
      return;
    }
    this.count('answered with an id that is not the request’s');
    this.spoil(line, message, id);
  }

  /** Not matched, but the one it was meant for need not wait for its deadline (GB-082). */
  private spoil(line: Uint8Array, message: Response, id: number | undefined): void {
    const words = 'the server answered with a wrong request id';
    const text = stringOf(line, message.id);
    const meant = text !== undefined && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;
    if (meant !== undefined) {
      this.settle(meant, words);
      return;
    }
    const nameless = message.id === undefined || id === 0;
    if (nameless && this.waiters.size === 1) for (const only of this.waiters.keys()) this.settle(only, words);
  }

  private settle(id: number, words: string, kind: 'protocol' | 'too-large' = 'protocol'): void {
    const waiter = this.waiters.get(id);
    if (waiter === undefined) return;
    this.waiters.delete(id);
    waiter.spoiled(kind, words);
  }

  private failed(id: number, failure: RequestFailure): void {
    const waiter = this.waiters.get(id);
    if (waiter === undefined) return;
    this.waiters.delete(id);
    if (waiter.failed !== undefined) waiter.failed(failure);
    else waiter.lost({ kind: 'exited', code: null, signal: null, words: failure.words });
  }

  /** It came, but as no JSON: whoever it was for need not wait for its deadline. */
  private unreadable(id: number): void {
    this.count('an answer that cannot be read');
    this.abandoned.delete(id);
    this.settle(id, UNREADABLE);
  }

  /** Tokens are our request ids; anything else was invented by the server and goes nowhere (GB-084). */
  private progress(line: Uint8Array, params: Member | undefined): void {
    const members = params?.kind === 'object' ? membersOf(line, params) : [];
    const token = findMember(members, PROGRESS_TOKEN);
    const id = token === undefined ? undefined : numberOf(line, token);
    const waiter = id === undefined ? undefined : this.waiters.get(id);
    if (waiter === undefined) {
      this.count('progress for a token that is not in use');
      return;
    }
    waiter.progressed?.(line, members);
  }

  private childFault(kind: 'line-too-long' | 'not-json' | 'not-utf8', detail: string, id: string | null): void {
    this.log.debug({ server: this.server, kind, detail }, 'unusable line from server');
    if (kind !== 'line-too-long') {
      if (id !== null) this.unreadable(Number(id));
      return;
    }
    const [only] = this.waiters.size === 1 ? this.waiters.keys() : [];
    const meant = id === null ? only : Number(id);
    if (meant !== undefined) this.settle(meant, 'the answer is longer than limits.maxLineBytes', 'too-large');
    if (++this.longLines >= MAX_LONG_LINES)
      void this.child.stop('wrote several lines over the cap', undefined, 'long-lines');
  }

  private ended(reason: ExitReason): void {
    this.exit = reason;
    const lost = [...this.waiters.values()];
    this.waiters.clear();
    this.abandoned.clear();
    for (const waiter of lost) waiter.lost(reason);
    this.lineUp.end();
  }
}

/** Value of a params object that is small by nature (cancelled, list_changed). */
export function smallParams(line: Uint8Array, params: Member | undefined): Record<string, unknown> {
  return params?.kind === 'object' ? (parseSpan(line, params) as Record<string, unknown>) : {};
}
