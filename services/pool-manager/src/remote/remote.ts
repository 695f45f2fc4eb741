// Servers by URL, as the composition root takes them: how sessions with them are begun, and what ends with the node.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { Rates } from '../child/output-rate.ts';
import type { Connector, Log } from '../raise/contract.ts';
import type { RemoteSpawn } from './contract.ts';
import { createRemoteDoors } from './fetch/doors.ts';
import { createRemoteSpawn } from './spawn.ts';

export interface RemoteDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly token: () => string;
  readonly maxLineBytes: () => number;
  readonly rates: () => Rates;
  /** Right before a message is sent. */
  readonly beforeWrite: () => void;
  /** Asked only later: it is made of this. */
  readonly connector: () => Pick<Connector, 'connect'>;
}

export interface Remote {
  readonly spawn: RemoteSpawn;
  close(): Promise<void>;
}

export function createRemote(deps: RemoteDeps): Remote {
  const { clock, log, token, maxLineBytes, rates, beforeWrite } = deps;

  /** `server/discover` or `initialize`, whichever its era has: what a real client begins with (GB-013). */
  async function probe(spec: ServerSpec): Promise<void> {
    const connection = await deps.connector().connect(spec, {}, AbortSignal.timeout(spec.startTimeoutMs));
    await connection.stop('it was to show that its server can be reached');
  }

  const doors = createRemoteDoors({ clock, log, userAgent: `lockkeeper/${deps.version}`, probe });
  const spawn = createRemoteSpawn({ doors, clock, log, token, maxLineBytes, rates, beforeWrite });
  return { spawn, close: () => doors.close() };
}
