// What the processes of one owner key say, told to the gateways that listen (design §4, §5): the union of what they want
// is asked of every process, what comes is told to each once. Nothing crosses from one owner to another (GB-070): a
// process belongs to the source of its own owner key only.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { LeaseRequest } from '../pool/contract.ts';
import type { Change, Connection, FaultHead } from '../raise/contract.ts';
import { KnownLists } from './catalogue.ts';
import {
  declaredOf,
  type Feed,
  type FeedListener,
  listChanged,
  listOf,
  NOTHING,
  updated,
  type Wanted,
} from './contract.ts';
import { Hold, type HoldDeps } from './hold.ts';
import { LegacyFeed } from './legacy-feed.ts';
import { ModernFeed } from './modern-feed.ts';
import type { Outlet } from './outlet.ts';

export interface SourceDeps extends Omit<HoldDeps, 'request'> {
  readonly clock: Clock;
  readonly random: () => number;
  /** What the server declares, without starting it where that can be had. */
  readonly declared: (wanted: Wanted) => Promise<Wanted>;
  /** Nobody listens and no process is left. */
  readonly idle: () => void;
  /** How to ask for a process when none is there to go by. */
  readonly request: (signal: AbortSignal) => Promise<LeaseRequest>;
}

interface Heard {
  readonly connection: Connection;
  readonly feed: Feed;
}

export class Source {
  readonly spec: ServerSpec;
  private readonly deps: SourceDeps;
  private readonly outlets = new Set<Outlet>();
  private readonly heard = new Map<Connection, Heard>();
  private readonly lists = new KnownLists();
  private readonly hold: Hold;
  /** How the last process was asked for: the next one is to be like it. */
  private template: LeaseRequest | null = null;
  /** Processes that told of URIs have gone, and none has come since. */
  private gapped = false;

  constructor(spec: ServerSpec, deps: SourceDeps) {
    this.spec = spec;
    this.deps = deps;
    this.hold = new Hold({ ...deps, request: (signal) => this.request(signal) });
  }

  /** Nothing to remember it for. */
  get idle(): boolean {
    return this.outlets.size === 0 && this.heard.size === 0;
  }

  async join(outlet: Outlet): Promise<void> {
    this.outlets.add(outlet);
    const able = await this.able(outlet.wanted);
    // Whoever has left meanwhile has let go of the process, too; nobody would again.
    if (!this.outlets.has(outlet)) return;
    // One that runs may be busy for long; it is asked beside its call, and held when it is free.
    if (able.uris.size > 0 && this.heard.size === 0) await this.hold.keep();
    else if (able.uris.size > 0) void this.hold.keep();
    await this.asked();
    if (!this.outlets.has(outlet)) return;
    // Those that are there are on their way out; the one that comes after them is asked.
    if (able.uris.size > 0 && !this.sure) {
      await this.hold.keep();
      await this.asked();
    }
    for (const one of this.heard.values()) this.compare(one.connection);
    if (this.heard.size > 0) return outlet.acknowledge(this.honoured(), this.sure);
    // The server does not start now; when it does, nobody knows what was missed.
    if (able.uris.size > 0) this.gapped = true;
    outlet.acknowledge({ lists: able.lists, uris: NOTHING.uris }, able.uris.size === 0);
  }

  leave(outlet: Outlet): void {
    if (!this.outlets.delete(outlet)) return;
    outlet.close();
    const union = this.union();
    if (union.uris.size === 0) this.hold.letGo();
    for (const { feed } of this.heard.values()) void feed.want(union);
  }

  /** A process serves this owner. Told of each lease, known ones included. */
  appeared(connection: Connection, request: LeaseRequest): void {
    this.template = request;
    if (connection.side === undefined || this.heard.has(connection)) return;
    const feed = this.feedOf(connection);
    this.heard.set(connection, { connection, feed });
    connection.closed.then(
      () => this.gone(connection),
      () => this.gone(connection),
    );
    if (this.outlets.size > 0) void this.welcome(connection, feed);
  }

  end(fault: FaultHead): void {
    for (const outlet of [...this.outlets]) outlet.end(fault);
    this.outlets.clear();
    this.hold.letGo();
    for (const { feed } of this.heard.values()) feed.end();
    this.heard.clear();
  }

  private async welcome(connection: Connection, feed: Feed): Promise<void> {
    const honoured = await feed.want(this.union());
    this.compare(connection);
    for (const outlet of this.outlets) if (outlet.acknowledged) outlet.acknowledge(this.honoured(), this.sure);
    if (!this.gapped || honoured.uris.size === 0) return;
    this.gapped = false;
    for (const uri of honoured.uris) this.tell(updated(uri));
  }

  private async asked(): Promise<void> {
    await Promise.all([...this.heard.values()].map(({ feed }) => feed.want(this.union())));
  }

  /** Some process has said yes or no to all that is wanted. */
  private get sure(): boolean {
    return [...this.heard.values()].some(({ feed }) => !feed.silent);
  }

  private honoured(): Wanted {
    const all = [...this.heard.values()].map(({ feed }) => feed.honoured);
    const lists = new Set(all.flatMap((each) => [...each.lists]));
    return { lists, uris: new Set(all.flatMap((each) => [...each.uris])) };
  }

  private gone(connection: Connection): void {
    const one = this.heard.get(connection);
    if (one === undefined) return;
    this.heard.delete(connection);
    one.feed.end();
    if (one.feed.honoured.uris.size > 0 || this.union().uris.size > 0) {
      this.gapped ||= [...this.heard.values()].every(({ feed }) => feed.honoured.uris.size === 0);
    }
    if (this.idle) this.deps.idle();
  }

  private feedOf(connection: Connection): Feed {
    const listener: FeedListener = {
      change: (change) => {
        this.tell(change);
        // What it is now is what the next process is compared with.
        const kind = listOf(change);
        if (kind !== undefined && this.union().lists.has(kind)) this.look(connection, kind, false);
      },
      gap: () => {
        this.compare(connection);
        for (const uri of this.heard.get(connection)?.feed.honoured.uris ?? []) this.tell(updated(uri));
      },
    };
    const { side, profile } = connection;
    if (profile.era === 'modern') return new ModernFeed(side!, listener, this.deps);
    return new LegacyFeed(side!, () => connection.profile.capabilities, listener);
  }

  /** Lists that differ from those of before are told. Where each call has its own process there is no before. */
  private compare(connection: Connection): void {
    if (this.spec.isolation === 'exclusive') return;
    const { lists } = declaredOf(this.union(), connection.profile.capabilities);
    for (const kind of lists) this.look(connection, kind, true);
  }

  private look(connection: Connection, kind: 'tools' | 'prompts' | 'resources', tell: boolean): void {
    void this.lists.changed(connection.side!, connection.fingerprint, kind).then((changed) => {
      if (changed && tell) this.tell(listChanged(kind));
    });
  }

  private tell(change: Change): void {
    for (const outlet of this.outlets) outlet.offer(change);
  }

  private async able(wanted: Wanted): Promise<Wanted> {
    const able = await this.deps.declared(wanted);
    // Its process ends with the call that it was started for.
    return this.spec.isolation === 'exclusive' ? { ...able, uris: NOTHING.uris } : able;
  }

  private union(): Wanted {
    const lists = new Set<'tools' | 'prompts' | 'resources'>();
    const uris = new Set<string>();
    for (const { wanted } of this.outlets) {
      for (const kind of wanted.lists) lists.add(kind);
      for (const uri of wanted.uris) uris.add(uri);
    }
    return { lists, uris: this.spec.isolation === 'exclusive' ? NOTHING.uris : uris };
  }

  private async request(signal: AbortSignal): Promise<LeaseRequest> {
    return this.template === null ? this.deps.request(signal) : { ...this.template, signal };
  }
}
