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
  /** For a stream that stands for long beside the requests. */
  readonly streamDoor: RemoteDoor;
  /** One more request may be sent without standing in anybody's way. */
  takes(): boolean;
  /** Its doors and seats are free again. */
  close(): Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: ChildEvents;
  readonly valve: Valve;
  readonly maxLineBytes: number;
  /** So much has come on its streams: a session that floods is ended (auth-security I-13). */
  spend(events: number, bytes: number): void;
  /** Right before a message is sent: a call may run from here on (design §4 `started`). */
  beforeWrite(): void;
}

export function failed(host: RemoteHost, id: number, failure: RequestFailure): void {
  host.events.failed?.(id, failure);
}
