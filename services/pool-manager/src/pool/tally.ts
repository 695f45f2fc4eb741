// What has happened to processes since this node started, by server and reason, and the last of it in words. Names of
// servers and closed lists of reasons only, so it is as large as the configuration.

import { type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { ExitCause } from '../child/contract.ts';
import type { EndReason } from './ends.ts';

export interface Counts {
  readonly starts: number;
  readonly startFailures: number;
  /** They ended, and we had not wanted it. */
  readonly crashes: number;
  readonly evictions: number;
  readonly crashesBy: ReadonlyMap<ExitCause, number>;
  /** By our own wish. */
  readonly endsBy: ReadonlyMap<EndReason, number>;
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
  readonly crashesBy = new Map<ExitCause, number>();
  readonly endsBy = new Map<EndReason, number>();

  get crashes(): number {
    let sum = 0;
    for (const times of this.crashesBy.values()) sum += times;
    return sum;
  }

  get evictions(): number {
    return this.endsBy.get('room') ?? 0;
  }
}

export class Tally {
  readonly total: Counts = new Counter();
  private readonly servers = new Map<string, Counter>();
  private readonly last: Mishap[] = [];

  started(spec: ServerSpec): void {
    for (const counter of this.both(spec)) counter.starts++;
  }

  startFailed(spec: ServerSpec, words: string, at: number): void {
    for (const counter of this.both(spec)) counter.startFailures++;
    this.note(spec, 'start-failed', words, at);
  }

  crashed(spec: ServerSpec, cause: ExitCause, words: string, at: number): void {
    for (const { crashesBy } of this.both(spec)) crashesBy.set(cause, (crashesBy.get(cause) ?? 0) + 1);
    this.note(spec, 'crashed', words, at);
  }

  ended(spec: ServerSpec, reason: EndReason): void {
    for (const { endsBy } of this.both(spec)) endsBy.set(reason, (endsBy.get(reason) ?? 0) + 1);
  }

  note({ tenant, name }: ServerSpec, kind: Mishap['kind'], words: string, at: number): void {
    this.last.push({ at, tenant, server: name, kind, words });
    if (this.last.length > MAX_MISHAPS) this.last.shift();
  }

  ofServer(id: string): Counts | undefined {
    return this.servers.get(id);
  }

  /** The newest last. */
  mishaps(): readonly Mishap[] {
    return [...this.last];
  }

  private both({ tenant, name }: ServerSpec): readonly Counter[] {
    const id = serverId(tenant, name);
    let own = this.servers.get(id);
    if (own === undefined) {
      own = new Counter();
      this.servers.set(id, own);
      if (this.servers.size > MAX_SERVERS) for (const oldest of this.servers.keys()) return this.drop(oldest, own);
    }
    return [this.total as Counter, own];
  }

  private drop(oldest: string, own: Counter): readonly Counter[] {
    this.servers.delete(oldest);
    return [this.total as Counter, own];
  }
}
