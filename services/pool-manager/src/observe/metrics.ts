// The numbers of one node (design §9). What stands still is read when it is asked for; only ends of exchanges are
// counted as they come. Labels are bounded: configured servers, states, reasons.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { serverId } from '@lockkeeper/protocol/config/settings';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { SettledFacts } from '../dispatch.ts';
import type { PoolStats, ServerStats } from '../pool/stats.ts';

export interface MetricsDeps {
  readonly servers: () => Snapshot['servers'];
  readonly pools: () => PoolStats;
  /** Servers whose era could not be found, and is not looked for again for now. */
  readonly unfound: () => number;
  readonly link: () => { readonly gateways: number; readonly streams: number; readonly draining: boolean };
  readonly exchanges: () => number;
  readonly parked: () => number;
  readonly tasks: () => number;
  readonly keys: () => number;
  /** One process has one set of them. */
  readonly processMetrics: boolean;
}

export interface Metrics {
  readonly registry: Registry;
  settled(facts: Pick<SettledFacts, 'tenant' | 'server' | 'how' | 'ms'>): void;
}

type Registers = { readonly registers: [Registry] };

const STATES = ['starting', 'idle', 'busy', 'draining'] as const;
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createMetrics(deps: MetricsDeps): Metrics {
  const registry = new Registry();
  const to: Registers = { registers: [registry] };
  if (deps.processMetrics) collectDefaultMetrics({ register: registry, prefix: 'lockkeeper_' });
  const each = eachServer(deps);
  poolGauges(each, to);
  poolCounters(each, to);
  read(
    'lockkeeper_pool_open_circuits',
    'Keys that are not started again for now, and servers that nobody could find out about.',
    to,
    () => deps.pools().openCircuits + deps.unfound(),
  );
  read('lockkeeper_link_gateways', 'Gateways that are connected.', to, () => deps.link().gateways);
  read('lockkeeper_link_streams', 'Streams of gateways that are open.', to, () => deps.link().streams);
  read('lockkeeper_link_draining', '1 while the node takes nothing new.', to, () => Number(deps.link().draining));
  read('lockkeeper_link_keys', 'Owner keys whose lease this node holds.', to, deps.keys);
  read('lockkeeper_dispatch_open', 'Exchanges under way.', to, deps.exchanges);
  read('lockkeeper_parked_exchanges', 'Exchanges that wait, or have waited, for a person.', to, deps.parked);
  read('lockkeeper_task_open', 'Tasks that are kept here.', to, deps.tasks);
  const ended = new Counter({
    name: 'lockkeeper_dispatch_ended_total',
    help: 'Exchanges by server and how they ended: result, or the reason of the fault.',
    labelNames: ['tenant', 'server', 'outcome'] as const,
    ...to,
  });
  const took = new Histogram({
    name: 'lockkeeper_dispatch_duration_seconds',
    help: 'From the open of an exchange to its end.',
    labelNames: ['tenant', 'server'] as const,
    buckets: SECONDS,
    ...to,
  });
  return {
    registry,
    settled({ tenant, server, how, ms }) {
      ended.inc({ tenant, server, outcome: how });
      took.observe({ tenant, server }, ms / 1000);
    },
  };
}

type EachServer = (see: (labels: { tenant: string; server: string }, stats: ServerStats) => void) => void;

/** All servers that are configured, and no others. One look at the pools serves a whole scrape. */
function eachServer(deps: MetricsDeps): EachServer {
  let seen: PoolStats | null = null;
  return (see) => {
    if (seen === null) {
      seen = deps.pools();
      setImmediate(() => {
        seen = null;
      });
    }
    const { servers } = seen;
    for (const { tenant, name } of deps.servers().values()) {
      see({ tenant, server: name }, servers[serverId(tenant, name)] ?? NONE);
    }
  };
}

const labelNames = ['tenant', 'server'] as const;

function poolGauges(each: EachServer, to: Registers): void {
  new Gauge({
    name: 'lockkeeper_pool_children',
    help: 'Processes by server and state.',
    labelNames: [...labelNames, 'state'] as const,
    ...to,
    collect() {
      this.reset();
      each((labels, stats) => {
        for (const state of STATES) this.set({ ...labels, state }, stats[state]);
      });
    },
  });
  const rows: readonly [string, string, (stats: ServerStats) => number][] = [
    ['lockkeeper_pool_leases', 'Leases that are lent.', (s) => s.leases],
    ['lockkeeper_pool_waiting', 'Calls that wait for a process.', (s) => s.waiting],
    ['lockkeeper_pool_oldest_waiter_seconds', 'Age of the call that waits longest.', (s) => s.oldestWaiterMs / 1000],
    ['lockkeeper_pool_memory_bytes', 'Resident memory of processes and all they started.', (s) => s.memoryBytes],
    ['lockkeeper_pool_spinning', 'Idle processes that take a whole processor.', (s) => s.spinning],
  ];
  for (const [name, help, value] of rows) {
    new Gauge({
      ...{ name, help, labelNames, ...to },
      collect() {
        this.reset();
        each((labels, stats) => this.set(labels, value(stats)));
      },
    });
  }
}

function poolCounters(each: EachServer, to: Registers): void {
  const rows: readonly [string, string, (stats: ServerStats) => number][] = [
    ['lockkeeper_pool_starts_total', 'Processes started.', (s) => s.starts],
    ['lockkeeper_pool_start_failures_total', 'Starts that failed.', (s) => s.startFailures],
  ];
  for (const [name, help, value] of rows) {
    new Counter({
      ...{ name, help, labelNames, ...to },
      collect() {
        this.reset();
        each((labels, stats) => this.inc(labels, value(stats)));
      },
    });
  }
  const reasons: readonly [string, string, (stats: ServerStats) => Readonly<Record<string, number>>][] = [
    ['lockkeeper_pool_crashes_total', 'Processes that ended, and we had not wanted it.', (s) => s.crashesBy],
    ['lockkeeper_pool_ended_total', 'Processes that we ended.', (s) => s.endsBy],
  ];
  for (const [name, help, counts] of reasons) {
    new Counter({
      ...{ name, help, labelNames: [...labelNames, 'reason'] as const, ...to },
      collect() {
        this.reset();
        each((labels, stats) => {
          for (const [reason, times] of Object.entries(counts(stats))) this.inc({ ...labels, reason }, times);
        });
      },
    });
  }
}

function read(name: string, help: string, to: Registers, value: () => number): void {
  new Gauge({
    ...{ name, help, ...to },
    collect() {
      this.set(value());
    },
  });
}

const NONE: ServerStats = {
  ...{ starting: 0, idle: 0, busy: 0, draining: 0, leases: 0, waiting: 0, oldestWaiterMs: 0, memoryBytes: 0 },
  ...{ spinning: 0, starts: 0, startFailures: 0, crashes: 0, evictions: 0, crashesBy: {}, endsBy: {} },
};
