// A dispatcher with scripted children below and a recording reply above. The pools are as plain as they can be: one
// process per lease request's key, as long as it lives.

import type { ConfigSource, Limits, ServerSpec, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { systemClock } from '@lockkeeper/state/clock';
import { createDispatcher, type DispatcherDeps, type DrainingDispatcher } from '../../src/dispatch.ts';
import type { OpenStream, StreamReply } from '../../src/link/contract.ts';
import type { Parked } from '../../src/parked/contract.ts';
import { createParked, type ParkedDeps } from '../../src/parked/parked.ts';
import type { LeaseRequest, Pools } from '../../src/pool/contract.ts';
import { createPools } from '../../src/pool/pools.ts';
import type { Connection, Connector, FaultHead, ResultHead } from '../../src/raise/contract.ts';
import {
  connectorOf,
  type FakeChild,
  memoryStore,
  notedLog,
  openOf,
  type Script,
  spawner,
  specOf,
} from '../raise/fake.ts';

export interface Answered {
  readonly started: boolean;
  readonly accepted: boolean;
  readonly events: { readonly method: string; readonly members: Record<string, unknown>; readonly seq?: number }[];
  readonly result?: ResultHead;
  readonly value?: Record<string, unknown>;
  readonly fault?: FaultHead;
}

export interface Opened {
  readonly head: Open;
  readonly stream: OpenStream;
  readonly ended: Promise<Answered>;
  /** What the reply says is not taken yet. */
  queued: number;
}

export interface Stage {
  readonly dispatcher: DrainingDispatcher;
  readonly children: FakeChild[];
  readonly requests: LeaseRequest[];
  readonly log: ReturnType<typeof notedLog>;
  readonly leases: { open: number };
  open(method: string, more?: Partial<Open>, params?: string): Opened;
  end(): Promise<void>;
}

export interface StageOptions {
  readonly scripts: Script[];
  readonly spec?: Partial<ServerSpec>;
  readonly deps?: Partial<DispatcherDeps>;
  readonly pools?: (pools: Pools) => Partial<Pools>;
  /** Questions are taken: parked exchanges and the real pools. */
  readonly asks?: boolean | Partial<ParkedDeps>;
  readonly limits?: Partial<Limits>;
}

export function stage(o: StageOptions): Stage {
  const spec = specOf({ era: 'legacy', ...o.spec });
  const { spawn, children } = spawner(...o.scripts);
  const log = notedLog();
  const limits = { ...LIMITS, ...o.limits } as Snapshot['limits'];
  const parked =
    o.asks === undefined || o.asks === false ? undefined : parkedOf(log, limits, o.asks === true ? {} : o.asks);
  const connector = connectorOf({ spawn, log, ...(parked === undefined ? {} : { questions: parked.questions }) });
  const requests: LeaseRequest[] = [];
  const leases = { open: 0 };
  const real =
    parked === undefined ? undefined : createPools({ connector, clock: systemClock, log, limits: () => limits });
  const plain = real === undefined ? plainPools(connector, requests, leases) : noting(real, requests);
  const snapshot = { servers: new Map([['acme/fake', spec]]), limits } as unknown as Snapshot;
  const config: ConfigSource = { current: () => snapshot, onChange: () => () => {} };
  const dispatcher = createDispatcher({
    config,
    connector,
    pools: { ...plain, ...o.pools?.(plain) },
    ownership: { claim: async () => ({ kind: 'held' }) },
    clock: systemClock,
    log,
    ...(parked === undefined ? {} : { parked }),
    ...o.deps,
  });
  return {
    dispatcher,
    children,
    requests,
    log,
    leases,
    open: (method, more, params = '') => opened(dispatcher, openOf(method, { digest: spec.digest, ...more }), params),
    async end() {
      dispatcher.close('test');
      await plain.close(0);
      await connector.close();
      await parked?.close();
    },
  };
}

function opened(dispatcher: DrainingDispatcher, head: Open, params: string): Opened {
  const { promise, resolve } = Promise.withResolvers<Answered>();
  const events: { method: string; members: Record<string, unknown>; seq?: number }[] = [];
  const value = (members: Uint8Array) => JSON.parse(`{${Buffer.from(members).toString()}}`) as Record<string, unknown>;
  let started = false;
  let accepted = false;
  const self = { queued: 0 };
  const reply: StreamReply = {
    started: () => {
      started = true;
    },
    accepted: () => {
      accepted = true;
    },
    event: (method, members, seq) =>
      void events.push({ method, members: value(members), ...(seq === undefined ? {} : { seq }) }),
    result: (result, members) => resolve({ started, accepted, events, result, value: value(members) }),
    fault: (fault) => resolve({ started, accepted, events, fault }),
    queuedBytes: () => self.queued,
  };
  const stream = dispatcher.open(head, Buffer.from(params), reply);
  return Object.assign(self, { head, stream, ended: promise });
}

const LIMITS: Partial<Limits> = {
  queueMs: 1_000,
  humanMs: 60_000,
  maxParkedPerPrincipal: 100,
  maxParkedPerServer: 100,
  maxPerServer: 10,
  maxPerTenant: 10,
  maxPerNode: 10,
  maxQueue: 1000,
  sessionIdleMs: 60_000,
};

let tokens = 0;

function parkedOf(log: Stage['log'], limits: Limits, more: Partial<ParkedDeps>): Parked {
  return createParked({
    store: memoryStore(),
    clock: systemClock,
    log,
    random: () => `r${tokens++}`,
    limits: () => limits,
    node: { id: 'node-1', incarnation: () => 'life-1' },
    ...more,
  });
}

function noting(pools: Pools, requests: LeaseRequest[]): Pools {
  return {
    lease: (request) => {
      requests.push(request);
      return pools.lease(request);
    },
    retire: (digest) => pools.retire(digest),
    close: (graceMs) => pools.close(graceMs),
  };
}

function plainPools(connector: Connector, requests: LeaseRequest[], leases: { open: number }): Pools {
  const connections = new Map<string, Promise<Connection>>();
  return {
    async lease(request) {
      requests.push(request);
      let starting = connections.get(request.key);
      if (starting === undefined) {
        starting = connector.connect(request.spec, request.capabilities, request.signal);
        connections.set(request.key, starting);
        const forget = () => connections.delete(request.key);
        starting.then((c) => c.closed.then(forget), forget);
      }
      const connection = await starting;
      leases.open++;
      let released = false;
      return {
        connection,
        release: () => {
          if (!released) leases.open--;
          released = true;
        },
      };
    },
    retire: () => {},
    async close() {
      const all = await Promise.allSettled(connections.values());
      await Promise.all(all.map((c) => (c.status === 'fulfilled' ? c.value.stop('test') : undefined)));
    },
  };
}
