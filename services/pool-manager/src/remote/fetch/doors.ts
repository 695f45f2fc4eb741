// All doors of this node: one a configuration, shared, and those of sessions that need a connection of their own.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { serverId } from '@lockkeeper/protocol/config/settings';
import type { Log } from '../../raise/contract.ts';
import type { RemoteDoor, RemoteDoors } from '../contract.ts';
import { createGuard, type Resolve } from './connect.ts';
import { type CredentialSource, STATIC_CREDENTIALS } from './credentials.ts';
import { createDoor } from './door.ts';

export interface DoorsDeps {
  readonly log: Pick<Log, 'warn'>;
  /** `lockkeeper/1.2.3` */
  readonly userAgent: string;
  readonly resolve?: Resolve;
  readonly credentials?: CredentialSource;
}

/** Where the server does not say: less than what common servers keep, since who loses that race loses its request. */
const KEEP_ALIVE_MS = 4_000;
/** A session's place behind a load balancer is worth the risk. */
const SESSION_KEEP_ALIVE_MS = 60_000;
/** Configurations of the past; their doors have no connections after a while, and open again when used. */
const MAX_SHARED = 10_000;

export function createRemoteDoors(deps: DoorsDeps): RemoteDoors {
  const shared = new Map<string, RemoteDoor>();
  const open = new Set<RemoteDoor>();
  /** Connections and doors of each configuration. */
  const counts = new Map<string, { open: number; doors: number }>();

  function make(spec: ServerSpec, session: string | undefined): RemoteDoor {
    const { http } = spec;
    if (http === undefined) throw new Error(`${spec.name} is not a remote server`);
    const id = idOf(spec);
    const count = counts.get(id) ?? { open: 0, doors: 0 };
    counts.set(id, count);
    count.doors++;
    const pinned = session !== undefined;
    const { log, resolve, userAgent, credentials = STATIC_CREDENTIALS } = deps;
    const guard = createGuard(http, { log, server: spec.name, count, ...(resolve && { resolve }) }, pinned);
    const door = createDoor({
      ...{ http, connect: guard, pinned, userAgent },
      keepAliveMs: pinned ? SESSION_KEEP_ALIVE_MS : KEEP_ALIVE_MS,
      credentials: credentials.of(spec, session),
      closed() {
        open.delete(door);
        if (shared.get(id) === door) shared.delete(id);
        if (--count.doors === 0 && counts.get(id) === count) counts.delete(id);
      },
    });
    open.add(door);
    return door;
  }

  function sharedDoor(spec: ServerSpec): RemoteDoor {
    const id = idOf(spec);
    const door = shared.get(id) ?? make(spec, undefined);
    shared.delete(id);
    shared.set(id, door);
    const [oldest] = shared.values();
    if (shared.size > MAX_SHARED) void oldest?.close();
    return door;
  }

  return {
    doorOf: (spec, session) => (session === undefined ? sharedDoor(spec) : make(spec, session)),
    async close() {
      await Promise.all([...open].map((door) => door.close()));
    },
  };
}

function idOf(spec: ServerSpec): string {
  return `${serverId(spec.tenant, spec.name)} ${spec.digest}`;
}
