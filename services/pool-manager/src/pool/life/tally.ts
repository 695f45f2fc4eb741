// What has happened to processes since this node started, by server and reason, and the last of it in words. Names of
// servers and closed lists of reasons only, so it is as large as the configuration.

import { type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { ExitCause } from '../../child/contract.ts';
import type { StartError } from '../../raise/contract.ts';
import type { EndReason } from './ends.ts';

export interface Counts {
  readonly starts: number;
  readonly startFailures: number;
  /** They ended, and we had not wanted it. */
  readonly crashes: number;
  readonly evictions: number;
  readonly crashesBy: Readonly<Partial<Record<ExitCause, number>>>;
  /** By our own wish. */
  readonly endsBy: Readonly<Partial<Record<EndReason, number>>>;
}

/** A failure, for people. */
export interface Mishap {
  readonly at: number;
  readonly tenant: string;
  readonly server: string;
  readonly kind: 'start-failed' | 'crashed' | 'memory';
  readonly words: string;
}

/** Servers of past configurations go first. */
const MAX_SERVERS = 10_000;
const MAX_MISHAPS = 100;

class Counter implements Counts {
  starts = 0;
  startFailures = 0;
  readonly crashesBy: Partial<Record<ExitCause, number>> = {};
  readonly endsBy: Partial<Record<EndReason, number>> = {};

  get crashes(): number {
    return Object.values(this.crashesBy).reduce((sum, times) => sum + times, 0);
  }

  get evictions(): number {
    return this.endsBy.room ?? 0;
  }
}

const NOTHING = new Counter();

export class Tally {
  readonly total: Counts = new Counter();
  private readonly byServer = new Map<string, Counter>();
  private readonly last: Mishap[] = [];
  private readonly told = new WeakSet<StartError>();

  started(spec: ServerSpec): void {
    for (const counter of this.both(spec)) counter.starts++;
  }

  /** One failure may come by two ways: from the pool that wanted a process, and from the question what server it is. */
  startFailed(spec: ServerSpec, error: StartError, at: number): void {
    if (this.told.has(error)) return;
    this.told.add(error);
    for (const counter of this.both(spec)) counter.startFailures++;
    this.note(spec, 'start-failed', error.words, at);
  }

  crashed(spec: ServerSpec, cause: ExitCause, words: string, at: number): void {
    for (const { crashesBy } of this.both(spec)) crashesBy[cause] = (crashesBy[cause] ?? 0) + 1;
    this.note(spec, 'crashed', words, at);
  }

  ended(spec: ServerSpec, reason: EndReason): void {
    for (const { endsBy } of this.both(spec)) endsBy[reason] = (endsBy[reason] ?? 0) + 1;
  }

  note({ tenant, name }: ServerSpec, kind: Mishap['kind'], words: string, at: number): void {
    this.last.push({ at, tenant, server: name, kind, words });
    if (this.last.length > MAX_MISHAPS) this.last.shift();
  }

  servers(): string[] {
    return [...this.byServer.keys()];
  }

  ofServer(id: string): Counts {
    return this.byServer.get(id) ?? NOTHING;
  }

  /** The newest last. */
  mishaps(): readonly Mishap[] {
    return [...this.last];
  }

  private both({ tenant, name }: ServerSpec): readonly Counter[] {
    const id = serverId(tenant, name);
    const own = this.byServer.get(id) ?? new Counter();
    if (!this.byServer.has(id) && this.byServer.size >= MAX_SERVERS) {
      for (const oldest of this.byServer.keys()) {
        this.byServer.delete(oldest);
        break;
      }
    }
    this.byServer.set(id, own);
    return [this.total as Counter, own];
  }
}
