// A dispatcher with scripted children below and a recording reply above. The pools are as plain as they can be: one
// process per lease request's key, as long as it lives.

import type { ConfigSource, ServerSpec, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { systemClock } from '@lockkeeper/state/clock';
import { createDispatcher, type DispatcherDeps, type DrainingDispatcher } from '../../src/dispatch.ts';
import type { OpenStream, StreamReply } from '../../src/link/contract.ts';
import type { LeaseRequest, Pools } from '../../src/pool/contract.ts';
import type { Connection, Connector, FaultHead, ResultHead } from '../../src/raise/contract.ts';
import { connectorOf, type FakeChild, notedLog, openOf, type Script, spawner, specOf } from '../raise/fake.ts';

export interface Answered {
  readonly started: boolean;
  readonly events: { readonly method: string; readonly members: Record<string, unknown> }[];
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
}

export function stage(o: StageOptions): Stage {
  const spec = specOf({ era: 'legacy', ...o.spec });
  const { spawn, children } = spawner(...o.scripts);
  const log = notedLog();
  const connector = connectorOf({ spawn, log });
  const requests: LeaseRequest[] = [];
  const leases = { open: 0 };
  const plain = plainPools(connector, requests, leases);
  const limits = { queueMs: 1_000 } as Snapshot['limits'];
  const snapshot = { servers: new Map([['acme/fake', spec]]), limits } as unknown as Snapshot;
  const config: ConfigSource = { current: () => snapshot, onChange: () => () => {} };
  const dispatcher = createDispatcher({
    config,
    connector,
    pools: { ...plain, ...o.pools?.(plain) },
    ownership: { claim: async () => ({ kind: 'held' }) },
    clock: systemClock,
    log,
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
    },
  };
}

function opened(dispatcher: DrainingDispatcher, head: Open, params: string): Opened {
  const { promise, resolve } = Promise.withResolvers<Answered>();
  const events: { method: string; members: Record<string, unknown> }[] = [];
  const value = (members: Uint8Array) => JSON.parse(`{${Buffer.from(members).toString()}}`) as Record<string, unknown>;
  let started = false;
  const self = { queued: 0 };
  const reply: StreamReply = {
    started: () => {
      started = true;
    },
    accepted: () => {},
    event: (method, members) => void events.push({ method, members: value(members) }),
    result: (result, members) => resolve({ started, events, result, value: value(members) }),
    fault: (fault) => resolve({ started, events, fault }),
    queuedBytes: () => self.queued,
  };
  const stream = dispatcher.open(head, Buffer.from(params), reply);
  return Object.assign(self, { head, stream, ended: promise });
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
