// Back-pressure of one exchange towards its gateway (design §5): over the cap, progress is coalesced into its latest and
// log messages are dropped; who stays over it for too long is too slow. Results pass: their size has a limit of its own.

import { copyOf } from '@lockkeeper/protocol/json/bytes';

export interface FlowDeps {
  queuedBytes(): number;
  event(method: string, members: Uint8Array, seq: number): void;
  now(): number;
  readonly maxQueuedBytes: number;
  readonly slowMs: number;
}

export class Flow {
  dropped = 0;
  /** An event went out: the caller has seen something of this call. */
  used = false;
  private readonly deps: FlowDeps;
  private latest: { readonly members: Uint8Array; readonly seq: number } | null = null;
  private blockedSince: number | null = null;

  constructor(deps: FlowDeps) {
    this.deps = deps;
  }

  /** False: the caller has been too slow for too long. */
  event(method: string, members: Uint8Array, seq: number): boolean {
    if (this.deps.queuedBytes() < this.deps.maxQueuedBytes) {
      this.blockedSince = null;
      if (method !== PROGRESS) this.flush();
      else this.latest = null;
      this.send(method, members, seq);
      return true;
    }
    if (method !== PROGRESS) this.dropped++;
    else {
      if (this.latest !== null) this.dropped++;
      // A copy: the line it points into may be large.
      this.latest = { members: copyOf(members), seq };
    }
    this.blockedSince ??= this.deps.now();
    return this.deps.now() - this.blockedSince < this.deps.slowMs;
  }

  /** Held progress, before whatever comes after it. */
  flush(): void {
    const held = this.latest;
    this.latest = null;
    if (held !== null) this.send(PROGRESS, held.members, held.seq);
  }

  private send(method: string, members: Uint8Array, seq: number): void {
    this.used = true;
    this.deps.event(method, members, seq);
  }
}

const PROGRESS = 'notifications/progress';
