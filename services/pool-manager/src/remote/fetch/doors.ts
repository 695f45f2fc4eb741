// All doors of this node: one a configuration, shared, and those of sessions that need a connection of their own.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { serverId } from '@lockkeeper/protocol/config/settings';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import type { Log } from '../../raise/contract.ts';
import type { RemoteDoor, RemoteDoors } from '../contract.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { type Connections, createGuard, type Resolve } from './connect.ts';
import { type CredentialSource, STATIC_CREDENTIALS } from './credentials.ts';
import { createDoor, type Door } from './door.ts';

export interface DoorsDeps {
  readonly log: Pick<Log, 'warn'>;
  /** `lockkeeper/1.2.3` */
  readonly userAgent: string;
  readonly resolve?: Resolve;
  readonly credentials?: CredentialSource;
  readonly clock?: Clock;
  /** A cheap real request to a server that could not be reached. */
  readonly probe?: (spec: ServerSpec) => Promise<void>;
}

/** What all doors of one configuration share. */
interface Common extends Connections {
  /** Who was used longest ago comes first. */
  readonly doors: Set<Door>;
  readonly breaker: Breaker;
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
  const commons = new Map<string, Common>();

  function commonOf(spec: ServerSpec, id: string): Common {
    const { clock = systemClock, probe } = deps;
    const breaker = () => createBreaker({ clock, probe: probe && (() => probe(spec)) });
    const common = commons.get(id) ?? fresh(breaker());
    commons.set(id, common);
    return common;
  }

  function make(spec: ServerSpec, session: string | undefined): RemoteDoor {
    const { http } = spec;
    if (http === undefined) throw new Error(`${spec.name} is not a remote server`);
    const id = idOf(spec);
    const common = commonOf(spec, id);
    const pinned = session !== undefined;
    const { log, resolve, userAgent, credentials = STATIC_CREDENTIALS } = deps;
    const guard = createGuard(http, { log, server: spec.name, count: common, ...(resolve && { resolve }) }, pinned);
    const door = createDoor({
      ...{ http, connect: guard, pinned, userAgent },
      keepAliveMs: pinned ? SESSION_KEEP_ALIVE_MS : KEEP_ALIVE_MS,
      credentials: credentials.of(spec, session),
      breaker: common.breaker,
      used() {
        common.doors.delete(door);
        common.doors.add(door);
      },
      rested() {
        // Not before the door itself knows.
        if (common.waiting.size > 0) setImmediate(common.makeRoom);
      },
      closed() {
        open.delete(door);
        if (shared.get(id) === door) shared.delete(id);
        common.doors.delete(door);
        if (common.doors.size > 0) return;
        // What is known of its server outlives a door that comes and goes, but not the last one.
        common.breaker.close();
        if (commons.get(id) === common) commons.delete(id);
      },
    });
    open.add(door);
    common.doors.add(door);
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

function fresh(breaker: Breaker): Common {
  const doors = new Set<Door>();
  const makeRoom = () => {
    for (const door of doors) if (door.letGo()) return;
  };
  return { open: 0, waiting: new Set(), doors, breaker, makeRoom };
}

function idOf(spec: ServerSpec): string {
  return `${serverId(spec.tenant, spec.name)} ${spec.digest}`;
}
