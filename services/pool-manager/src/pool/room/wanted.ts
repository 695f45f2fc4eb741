// A find in line for its place, among the pools. Settled once: it has one, a start lends it its own, or nobody waits.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Place } from '../../raise/place.ts';
import type { Caps, FullCap } from './caps.ts';
import type { Hungry, Room } from './room.ts';

export interface WantedDeps {
  readonly caps: Caps;
  room(): Pick<Room, 'admits' | 'missing'>;
}

export interface WantedHooks {
  seat(lent: boolean): Place;
  left(): void;
}

export class Wanted implements Hungry {
  readonly spec: ServerSpec;
  /** What stood against it last. */
  cap: FullCap | null = null;
  got = 0;
  readonly wants = true;
  readonly finds = true;
  readonly granted = Promise.withResolvers<Place>();
  private readonly deps: WantedDeps;
  private readonly hooks: WantedHooks;
  private settled = false;

  constructor(spec: ServerSpec, deps: WantedDeps, hooks: WantedHooks) {
    this.spec = spec;
    this.deps = deps;
    this.hooks = hooks;
  }

  serve(): void {
    if (this.settled) return;
    const { caps, room } = this.deps;
    this.cap = caps.full(this.spec);
    if (this.cap !== null) room().missing(this, this.cap);
    else if (room().admits(this)) this.grant(false);
  }

  /** `lent`: a start counts for it. */
  grant(lent: boolean): void {
    if (this.settled) return;
    this.settled = true;
    if (!lent) this.deps.caps.add(this.spec);
    this.got = 1;
    this.hooks.left();
    this.granted.resolve(this.hooks.seat(lent));
  }

  refuse(why: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.hooks.left();
    this.granted.reject(why);
  }
}
