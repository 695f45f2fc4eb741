// From a server's spec to a session with it, by the way that it is spoken to (protocol.md §4.3–§4.5). Nothing is sent yet,
// but for HTTP+SSE, whose stream comes first.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { Child } from '../child/contract.ts';
import { OutputRate, type Rates } from '../child/output-rate.ts';
import type { Log } from '../raise/contract.ts';
import type { RemoteDoors, RemoteSpawn, Way } from './contract.ts';
import type { RemoteHost } from './host.ts';
import { ModernTransport } from './modern/modern-transport.ts';
import { createToolHeaders, type ToolHeaders } from './modern/tool-headers.ts';
import { createPinnedDoor } from './pinned-door.ts';
import { createRemoteChild, type Life, type Transport } from './remote-child.ts';
import { createSeats } from './seats.ts';
import { SseTransport } from './sse/sse-transport.ts';
import { StreamableTransport } from './streamable/streamable-transport.ts';
import { createValve } from './valve.ts';

export interface RemoteSpawnDeps {
  readonly doors: Pick<RemoteDoors, 'doorOf'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxLineBytes: () => number;
  /** Fresh at each call. */
  readonly token: () => string;
  /** Of events for lines. Absent: as fast as they can. */
  readonly rates?: () => Rates;
  readonly beforeWrite?: () => void;
}

export function createRemoteSpawn(deps: RemoteSpawnDeps): RemoteSpawn {
  const tools = createToolHeaders();
  const places = createSeats();
  return (spec, events, way): Child => {
    const http = httpOf(spec);
    const { doorOf } = deps.doors;
    const shared = doorOf(spec);
    // A session keeps to one connection as far as it can, since its server may be one of several (GB-002).
    const own = way === 'streamable' ? createPinnedDoor(doorOf(spec, deps.token()), shared) : null;
    const seats = places.of(spec, http.maxConnections);
    const leave = seats.join(() => events.room?.());
    const rate = deps.rates === undefined ? null : new OutputRate(deps.rates(), 'events', deps.clock);
    const host: RemoteHost = {
      spec,
      http,
      door: seats.posts(own ?? shared),
      streamDoor: seats.streams(shared),
      takes: () => seats.free,
      async close() {
        leave();
        await own?.close();
      },
      clock: deps.clock,
      log: deps.log,
      events,
      valve: createValve(),
      maxLineBytes: deps.maxLineBytes(),
      spend(events, bytes) {
        const flood = rate?.spend(events, bytes) ?? null;
        if (flood !== null) void child.stop(flood, undefined, 'flood');
      },
      beforeWrite: deps.beforeWrite ?? (() => {}),
    };
    const child = createRemoteChild(host, (life) => transportOf(way, host, life, tools));
    return child;
  };
}

function transportOf(way: Way, host: RemoteHost, life: Life, tools: ToolHeaders): Transport {
  switch (way) {
    case 'modern':
      return new ModernTransport(host, life, tools.of(host.spec));
    case 'streamable':
      return new StreamableTransport(host, life);
    case 'sse':
      return new SseTransport(host, life);
  }
}

function httpOf(spec: ServerSpec): NonNullable<ServerSpec['http']> {
  if (spec.http === undefined) throw new Error(`server "${spec.name}" has no http in its configuration`);
  return spec.http;
}
