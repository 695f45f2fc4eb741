// One node as a gateway sees it: connected or not, draining or not, under which incarnation. Keeps a connection pair
// up for as long as the node is wanted, with a growing and jittered pause between attempts.

import type { ConnectionOptions } from 'node:tls';
import type { Channel } from '@lockkeeper/protocol/link/channel';
import type { Proving } from '@lockkeeper/protocol/link/handshake';
import type { Stream } from '@lockkeeper/protocol/link/stream';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import { parseAddress } from './dial.ts';
import { connectPair, type Pair } from './pair.ts';

export interface NodePeerDeps {
  readonly self: { readonly id: string; readonly incarnation: string };
  readonly proving: Proving;
  readonly nonce: () => string;
  readonly random: () => number;
  readonly clock: Clock;
  readonly tls: ConnectionOptions | undefined;
  /** Anything that `choose` looks at has changed. */
  readonly changed: () => void;
  readonly tooSlow: (stream: Stream) => void;
  readonly log: (level: 'info' | 'warn', words: string) => void;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

export class NodePeer {
  readonly id: string;
  incarnation: string;
  draining: boolean;
  /** Null while there is no connection. */
  channel: Channel | null = null;
  readonly #deps: NodePeerDeps;
  #address: string;
  #wanted = true;
  #pair: Pair | null = null;
  #timer: Timer | null = null;
  #failures = 0;

  constructor(record: NodeRecord, deps: NodePeerDeps) {
    this.id = record.id;
    this.incarnation = record.incarnation;
    this.draining = record.draining;
    this.#address = record.address;
    this.#deps = deps;
  }

  /** First attempt made and failed, or connected: nothing to wait for. */
  get settled(): boolean {
    return this.channel !== null || this.#failures > 0;
  }

  /** What the store says now. A connection that works knows better than the store, except of a new life. */
  update(record: NodeRecord): void {
    this.#wanted = true;
    const moved = this.#address !== record.address || this.incarnation !== record.incarnation;
    if (moved && this.channel === null) this.#hurry();
    this.#address = record.address;
    if (this.channel === null || record.draining) this.draining = record.draining;
    if (this.channel === null) this.incarnation = record.incarnation;
    this.connect();
  }

  /** Nothing is left of it: not registered, not connected, not being connected. */
  get gone(): boolean {
    return !this.#wanted && this.#pair === null;
  }

  /** No longer registered: a working connection is kept, a broken one is not made again. */
  unwanted(): boolean {
    this.#wanted = false;
    if (this.channel !== null) return false;
    this.end('the node is no longer registered');
    return true;
  }

  connect(): void {
    if (this.#pair !== null || this.#timer !== null || !this.#wanted) return;
    const target = parseAddress(this.#address);
    if (target === null) {
      this.#deps.log('warn', `node ${this.id} has an address that cannot be dialled: ${this.#address}`);
      this.#failures += 1;
      return;
    }
    const { self, proving, nonce, clock, tls, tooSlow, log } = this.#deps;
    this.#pair = connectPair({
      target,
      tls,
      self,
      proving,
      nonce,
      clock,
      tooSlow,
      up: (channel, hello) => this.#up(channel, hello.id, hello.incarnation),
      state: (state) => {
        this.incarnation = state.incarnation;
        this.draining = state.draining;
        this.#deps.changed();
      },
      warn: (words) => log('warn', words),
      down: (reason) => this.#down(reason),
    });
  }

  end(reason: string): void {
    this.#wanted = false;
    this.#timer?.clear();
    this.#timer = null;
    this.#pair?.end(reason);
  }

  #up(channel: Channel, id: string, incarnation: string): void {
    if (id !== this.id) {
      this.#pair?.end(`node ${id} answers at the address of ${this.id}`);
      return;
    }
    this.channel = channel;
    this.incarnation = incarnation;
    this.#failures = 0;
    this.#deps.log('info', `connected to node ${this.id}`);
    this.#deps.changed();
  }

  #down(reason: string): void {
    this.#pair = null;
    this.channel = null;
    this.#failures += 1;
    if (this.#wanted) this.#retryLater();
    // A node that stays away is said once, not at every attempt; one that drained, or that we let go, leaves as it should.
    const level = this.draining || !this.#wanted ? 'info' : 'warn';
    if (this.#failures < 2) this.#deps.log(level, `no connection to node ${this.id}: ${reason}`);
    this.#deps.changed();
  }

  /** A new life or address: what failed before says nothing about it. */
  #hurry(): void {
    this.#timer?.clear();
    this.#timer = null;
    this.#failures = 0;
  }

  #retryLater(): void {
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, this.#failures - 1));
    this.#timer = this.#deps.clock.setTimer(pause * (0.5 + this.#deps.random()), () => {
      this.#timer = null;
      this.connect();
    });
  }
}
