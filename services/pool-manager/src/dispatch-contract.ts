// What a dispatched exchange is given: the same for all of a node.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import type { KeptState } from './lease/kept-state.ts';
import type { Ownership } from './link/contract.ts';
import type { AudienceDeps } from './parked/audience.ts';
import type { Parked } from './parked/contract.ts';
import type { Returns } from './parked/returns.ts';
import type { Lease, Pools } from './pool/contract.ts';
import type { Connector, Log, ResultHead } from './raise/contract.ts';
import type { Adopted } from './tasks/tasks.ts';

export interface ExchangeDeps {
  /** This one's id. */
  readonly node: string;
  readonly connector: Pick<Connector, 'known' | 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes what upstreams ask; absent: nothing that asks is declared to them. */
  readonly parked: Parked | undefined;
  readonly returns: Returns;
  /** How long a process is kept for a caller that it asked. */
  readonly humanMs: () => number;
  /** How long an answered call waits for its turn before it goes on beside the one that runs. */
  readonly batonMs: number;
  /** How long a later round waits for its caller when the link broke under it (design §4 amendment 6). */
  readonly rejoinMs: number;
  readonly queueMs: () => number;
  /** How often who waits for a process is told so, if it wants progress. */
  readonly tellMs: number;
  readonly flow: AudienceDeps;
  /** Absent: nobody is told that a session's state is gone. */
  readonly keptState: KeptState | undefined;
  /** On top of the start time-out: the probe of a server not seen before. */
  readonly probeMs: number;
  /** Progress keeps a call alive, but not for ever (26/cancel "maximum timeout"). */
  readonly maxCallMs: number;
  settled(exchange: { readonly head: Open; readonly spec: ServerSpec }, how: string, ms: number): void;
  /** A modern server made a task of the call: its process is kept by whoever keeps tasks (design §5 "Obligations"). */
  adopt?(head: Open, result: ResultHead, members: Uint8Array, lease: Lease): Adopted;
}
