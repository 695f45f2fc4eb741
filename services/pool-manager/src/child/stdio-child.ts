// One child from its first moment to its last: pipes wired before anything can go wrong, one way to its end whoever causes
// it (its own exit, a fault, `stop`), and nothing left behind (GB-015, GB-019, GB-020, GB-023).

import type { ChildProcess } from 'node:child_process';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Log } from '../raise/contract.ts';
import { spawnFaultWords } from './command.ts';
import type { Child, ChildEvents, ExitCause, ExitReason, Line } from './contract.ts';
import type { Cgroup } from './end/cgroup.ts';
import { exitReason } from './end/exit-reason.ts';
import { endGroup, signalGroup } from './end/group.ts';
import type { MarkSweeper } from './end/marks.ts';
import { removeTree } from './end/remove.ts';
import { OutputRate, type Rates } from './output-rate.ts';
import { createRedactor } from './pipes/redact.ts';
import { StderrRing } from './pipes/stderr-ring.ts';
import { StdinQueue } from './pipes/stdin-queue.ts';
import { StdoutLines } from './pipes/stdout-lines.ts';

export interface Patience {
  /** From the end of stdin to SIGTERM. */
  readonly closeMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly termMs: number;
  /** From SIGKILL until we look away. */
  readonly goneMs: number;
  /** A child that takes nothing from its queue for so long is ended (auth-security I-12). */
  readonly stallMs: number;
  /** How long output may still come after the exit, and how long a child may live without its pipes. */
  readonly drainMs: number;
}

export const DEFAULT_PATIENCE: Patience = { closeMs: 2000, termMs: 3000, goneMs: 2000, stallMs: 10_000, drainMs: 500 };

export interface StdioChildParts {
  /** Null: it could not be started, for the reason in `fault`. */
  readonly process: ChildProcess | null;
  readonly fault: string | null;
  readonly home: string | null;
  readonly spec: ServerSpec;
  readonly events: ChildEvents;
  readonly mark: string;
  readonly sweeper: MarkSweeper;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly maxLineBytes: number;
  readonly rates: Rates | null;
  readonly cgroup: Cgroup | null;
  readonly wrapped: boolean;
  /** Right before bytes are written to it. */
  readonly beforeWrite: () => void;
}

type Phase = 'running' | 'closing' | 'terminating' | 'killing' | 'ended';

export class StdioChild implements Child {
  readonly startedAt: number;
  exited: ExitReason | null = null;
  private readonly parts: StdioChildParts;
  private readonly stdin: StdinQueue | null;
  private readonly stdout: StdoutLines;
  private readonly stderr: StderrRing;
  private readonly gone = Promise.withResolvers<void>();
  private phase: Phase = 'running';
  private stopWords: string | null = null;
  private cause: ExitCause | undefined;
  private timer: Timer | null = null;

  constructor(parts: StdioChildParts) {
    this.parts = parts;
    this.startedAt = parts.clock.now();
    const redactor = createRedactor(parts.spec.stdio?.env ?? {});
    this.stderr = new StderrRing(redactor);
    this.stdout = new StdoutLines({
      maxLineBytes: parts.maxLineBytes,
      events: parts.events,
      redactor,
      rate: parts.rates === null ? null : new OutputRate(parts.rates, 'lines', parts.clock),
      hopeless: (why, cause) => this.abort(why, cause),
    });
    this.stdin = this.wire();
    if (parts.process === null) process.nextTick(() => this.failed(parts.fault ?? 'unknown reason'));
  }

  get pid(): number | undefined {
    return this.parts.process?.pid;
  }

  send(message: Line): boolean {
    return this.phase === 'running' && this.stdin !== null && this.stdin.send(message);
  }

  takes(bytes: number): boolean {
    return this.phase === 'running' && this.stdin !== null && this.stdin.takes(bytes);
  }

  pause(): void {
    this.parts.process?.stdout?.pause();
  }

  resume(): void {
    this.parts.process?.stdout?.resume();
  }

  stderrTail(): string {
    return this.stderr.tail();
  }

  stop(why: string, how?: 'now', cause?: ExitCause): Promise<void> {
    if (this.phase === 'running') {
      this.stopWords = why;
      this.cause = cause;
      this.stdin?.end();
      // Nobody may be left to end what waits behind a paused pipe.
      this.resume();
      if (how !== 'now') this.wait('closing', this.parts.patience.closeMs, () => this.terminate());
    }
    if (how === 'now' && this.phase !== 'ended') this.kill();
    return this.gone.promise;
  }

  /** Nothing more is expected of it: no time to say goodbye. */
  private abort(why: string, cause: ExitCause): void {
    if (this.phase !== 'running') return;
    this.stopWords = why;
    this.cause = cause;
    this.stdin?.close();
    this.terminate();
  }

  private terminate(): void {
    this.signal('SIGTERM');
    this.wait('terminating', this.parts.patience.termMs, () => this.kill());
  }

  private kill(): void {
    this.signal('SIGKILL');
    this.wait('killing', this.parts.patience.goneMs, () => this.ended(null, 'SIGKILL'));
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }

  private wait(phase: Phase, ms: number, then: () => void): void {
    this.phase = phase;
    this.timer?.clear();
    this.timer = this.parts.clock.setTimer(ms, then);
  }

  private wire(): StdinQueue | null {
    const child = this.parts.process;
    if (child === null) return null;
    // 'error' also means "could not be signalled"; only without a pid was nothing started.
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) this.failed(spawnFaultWords(error.code, this.parts.spec.stdio?.command ?? ''));
    });
    child.on('exit', (code, signal) => this.ended(code, signal));
    child.stdout?.on('data', (chunk: Buffer) => this.stdout.push(chunk));
    child.stdout?.on('error', () => {});
    child.stdout?.on('end', () => this.pipeClosed('closed its output'));
    child.stderr?.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    child.stderr?.on('error', () => {});
    if (child.stdin === null) return null;
    child.stdin.on('error', () => this.pipeClosed('closed its input'));
    const { clock, patience, beforeWrite, events } = this.parts;
    const seconds = Math.round(patience.stallMs / 1000);
    const stalled = () => this.abort(`did not read its input for ${seconds} s`, 'stalled');
    const room = () => events.room?.();
    return new StdinQueue(child.stdin, { clock, stallMs: patience.stallMs, stalled, beforeWrite, room });
  }

  /** Usually its exit follows at once; if not, it is of no use any more (GB-023). */
  private pipeClosed(why: string): void {
    if (this.phase !== 'running') return;
    this.timer ??= this.parts.clock.setTimer(this.parts.patience.drainMs, () => this.abort(why, 'deaf'));
  }

  private failed(words: string): void {
    if (this.phase === 'ended') return;
    this.finish({ kind: 'spawn-failed', code: null, signal: null, words });
    this.cleanUp(undefined);
  }

  private ended(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.phase === 'ended') return;
    this.phase = 'ended';
    this.timer?.clear();
    this.stdin?.close();
    this.resume();
    const child = this.parts.process!;
    const finish = () => this.finish(this.reason(code, signal));
    // A grandchild may hold the pipe open for as long as it lives.
    this.timer = this.parts.clock.setTimer(this.parts.patience.drainMs, finish);
    if (child.stdout === null || child.stdout.readableEnded || child.stdout.closed) finish();
    else child.stdout.once('close', finish);
    this.cleanUp(child.pid);
  }

  private reason(code: number | null, signal: NodeJS.Signals | null): ExitReason {
    const { stopWords, cause, stderr, stdout } = this;
    return exitReason(
      { code, signal, stopWords, cause, answered: stdout.messages > 0, tail: stderr.tail() },
      this.parts.wrapped,
    );
  }

  private finish(reason: ExitReason): void {
    if (this.exited !== null) return;
    this.phase = 'ended';
    this.timer?.clear();
    this.stdin?.close();
    this.stdout.end();
    this.exited = reason;
    this.parts.events.exit(reason);
  }

  private cleanUp(pid: number | undefined): void {
    void this.removeAll(pid)
      .catch((error: unknown) => this.parts.log.warn({ server: this.parts.spec.name, err: error }, 'clean-up'))
      .finally(() => this.gone.resolve());
  }

  private async removeAll(pid: number | undefined): Promise<void> {
    const { patience, sweeper, mark, home, cgroup } = this.parts;
    if (pid !== undefined) {
      await endGroup(pid, patience.termMs, patience.goneMs);
      cgroup?.kill();
      await sweeper.sweep(mark);
    }
    await cgroup?.remove();
    this.parts.process?.stdin?.destroy();
    this.parts.process?.stdout?.destroy();
    this.parts.process?.stderr?.destroy();
    if (home !== null) await removeTree(home);
  }
}
