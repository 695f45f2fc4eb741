// What every remote session is given, whatever its transport: the way out, the limits, and whom to tell.

import type { HttpSpec, ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { ChildEvents, RequestFailure } from '../child/contract.ts';
import type { Log } from '../raise/contract.ts';
import type { RemoteDoor } from './contract.ts';
import type { Valve } from './valve.ts';

export interface RemoteHost {
  readonly spec: ServerSpec;
  readonly http: HttpSpec;
  readonly door: RemoteDoor;
  /** For a stream that stands for long beside the requests: theirs is the connection that the session began on (GB-002). */
  readonly streamDoor: RemoteDoor;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: ChildEvents;
  readonly valve: Valve;
  readonly maxLineBytes: number;
  /** Right before a message is sent: a call may run from here on (design §4 `started`). */
  beforeWrite(): void;
}

export function failed(host: RemoteHost, id: number, failure: RequestFailure): void {
  host.events.failed?.(id, failure);
}

/** Requests that may be open at once on one session. Room is left for what must always get through: answers, cancels. */
export function mostOpen({ maxConnections }: HttpSpec): number {
  return Math.max(1, maxConnections - RESERVED);
}

const RESERVED = 2;
