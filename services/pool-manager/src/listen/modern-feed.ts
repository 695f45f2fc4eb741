// One listen at one modern process, with all that is wanted of it (protocol.md §5.1 "listen"): when that changes, the
// new one is acknowledged before the old one is closed. When the server ends it, it is opened again more and more
// slowly (GB-068), and what may have been missed is made good once, when that has worked.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Side, UpstreamFilter } from '../raise/side.ts';
import { type Feed, type FeedListener, LIST_KINDS, NOTHING, sameWanted, type Wanted } from './contract.ts';

export interface ModernFeedDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
}

interface Open {
  readonly wanted: Wanted;
  readonly honoured: Wanted;
  readonly openedAt: number;
  ended: boolean;
  close(): void;
}

const ACK_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** One that lived so long ends the row of failures. */
const SETTLED_MS = 60_000;
const METHOD_NOT_FOUND = -32601;

export class ModernFeed implements Feed {
  private readonly side: Side;
  private readonly listener: FeedListener;
  private readonly deps: ModernFeedDeps;
  private wanted: Wanted = NOTHING;
  private current: Open | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private failures = 0;
  private timer: Timer | null = null;
  private missing = false;
  private never = false;
  private over = false;

  constructor(side: Side, listener: FeedListener, deps: ModernFeedDeps) {
    this.side = side;
    this.listener = listener;
    this.deps = deps;
  }

  get honoured(): Wanted {
    return this.current?.honoured ?? NOTHING;
  }

  get silent(): boolean {
    // An old listen that still stands has been asked for less.
    return !this.never && [...this.wanted.uris].some((uri) => this.current?.wanted.uris.has(uri) !== true);
  }

  want(wanted: Wanted): Promise<Wanted> {
    this.wanted = wanted;
    const next = this.turn.then(() => this.apply());
    this.turn = next;
    return next;
  }

  end(): void {
    this.over = true;
    this.timer?.clear();
    this.current?.close();
    this.current = null;
  }

  private async apply(): Promise<Wanted> {
    const { wanted } = this;
    const old = this.current;
    if (this.over || this.never || (old !== null && sameWanted(old.wanted, wanted))) return this.honoured;
    if (wanted.lists.size + wanted.uris.size === 0) {
      old?.close();
      this.current = null;
      return NOTHING;
    }
    // It failed a moment ago: its own time will come.
    if (old === null && this.timer !== null) return NOTHING;
    const next = await this.open(wanted);
    if (next === null || this.over) {
      next?.close();
      if (this.current === null) this.again();
      return this.honoured;
    }
    this.current?.close();
    this.current = next;
    if (next.ended) {
      this.lost(next);
      return NOTHING;
    }
    this.timer?.clear();
    this.timer = null;
    if (this.missing) {
      this.missing = false;
      this.listener.gap();
    }
    return next.honoured;
  }

  /** Null: not acknowledged. */
  private open(wanted: Wanted): Promise<Open | null> {
    const { promise, resolve } = Promise.withResolvers<Open | null>();
    let entry: Open | null = null;
    const timer = this.deps.clock.setTimer(ACK_MS, () => {
      listening?.close();
      resolve(null);
    });
    const listening = this.side.listen(filterOf(wanted), {
      acknowledged: (filter) => {
        if (entry !== null) return;
        timer.clear();
        const close = () => listening?.close();
        entry = { wanted, honoured: subset(wanted, filter), openedAt: this.deps.clock.now(), ended: false, close };
        resolve(entry);
      },
      // Before its acknowledgement a server must not say anything; if it does, that is no harm to us.
      change: (change) => this.listener.change(change),
      ended: (code) => {
        timer.clear();
        if (code === METHOD_NOT_FOUND) this.never = true;
        if (entry === null) return resolve(null);
        entry.ended = true;
        if (this.current === entry) this.lost(entry);
      },
    });
    if (listening === null) {
      timer.clear();
      resolve(null);
    }
    return promise;
  }

  private lost(entry: Open): void {
    if (this.deps.clock.now() - entry.openedAt >= SETTLED_MS) this.failures = 0;
    this.current = null;
    this.missing = true;
    this.again();
  }

  private again(): void {
    if (this.over || this.never || this.timer !== null) return;
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.failures++, 10));
    this.timer = this.deps.clock.setTimer(pause * (0.5 + this.deps.random() / 2), () => {
      this.timer = null;
      if (!this.over) void this.want(this.wanted);
    });
  }
}

function filterOf(wanted: Wanted): UpstreamFilter {
  const flags: Record<string, true> = {};
  for (const kind of LIST_KINDS) if (wanted.lists.has(kind)) flags[`${kind}ListChanged`] = true;
  return wanted.uris.size === 0 ? flags : { ...flags, resourceSubscriptions: [...wanted.uris] };
}

/** Never more than was asked, whatever the server says. */
function subset(wanted: Wanted, said: UpstreamFilter): Wanted {
  const uris = new Set(said.resourceSubscriptions ?? []);
  return {
    lists: new Set(LIST_KINDS.filter((kind) => wanted.lists.has(kind) && said[`${kind}ListChanged`] === true)),
    uris: new Set([...wanted.uris].filter((uri) => uris.has(uri))),
  };
}
