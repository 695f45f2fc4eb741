// What an `open` means (design §4): the spec it names, the exchange it starts, the cancel that finds it. The link owns
// streams and credit, the pools own processes; this file joins them.

import { type ConfigSource, type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { Cancel, Notify, Open, Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import { DispatchedExchange, type ExchangeDeps } from './dispatch-exchange.ts';
import { ExchangeTable } from './dispatch-table.ts';
import { faultOf } from './errors.ts';
import type { Dispatcher, OpenStream, Ownership, StreamReply } from './link/contract.ts';
import type { Pools } from './pool/contract.ts';
import type { Connector, Log } from './raise/contract.ts';

/** One exchange after its end, for metrics and traces. No names of people. */
export interface SettledFacts {
  readonly xid: string;
  readonly tenant: string;
  readonly server: string;
  readonly method: string;
  /** `result`, or the fault's reason. */
  readonly how: string;
  readonly ms: number;
}

/** Someone tried to touch what is not theirs (protocol.md Part 6 #3). */
export interface ForeignCancel {
  readonly xid: string;
  readonly principal: Principal;
}

export interface DispatcherDeps {
  readonly config: ConfigSource;
  readonly connector: Pick<Connector, 'known' | 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  /** True once the connector was given `questions`; both together, or the pool keys lie. */
  readonly asks?: boolean;
  readonly maxExchanges?: number;
  /** Bytes of one exchange that its gateway has not taken yet. */
  readonly maxQueuedBytes?: number;
  readonly slowMs?: number;
  readonly probeMs?: number;
  readonly maxCallMs?: number;
  /** The place of subscriptions and of roots changes; without them the one is refused, the other ignored. */
  readonly listen?: Dispatcher['listen'];
  readonly notify?: (head: Notify) => void;
  /** The place of tasks (tasks/tasks.ts). */
  readonly adopt?: ExchangeDeps['adopt'];
  readonly onSettled?: (facts: SettledFacts) => void;
  readonly onForeignCancel?: (attempt: ForeignCancel) => void;
}

export interface DrainingDispatcher extends Dispatcher {
  /** Exchanges under way. */
  readonly size: number;
  /** From now on everything new is refused with `draining`. */
  drain(): void;
  /** Ends what is still under way as `lost`. */
  close(words: string): void;
}

const GONE: OpenStream = { vanished: () => {} };

export function createDispatcher(deps: DispatcherDeps): DrainingDispatcher {
  const { config, clock, log } = deps;
  const table = new ExchangeTable<DispatchedExchange>(deps.maxExchanges ?? 50_000);
  let draining = false;

  const exchangeDeps: ExchangeDeps = {
    connector: deps.connector,
    pools: deps.pools,
    ownership: deps.ownership,
    clock,
    log,
    asks: deps.asks ?? false,
    queueMs: () => config.current().limits.queueMs,
    maxQueuedBytes: deps.maxQueuedBytes ?? 1024 * 1024,
    slowMs: deps.slowMs ?? 30_000,
    probeMs: deps.probeMs ?? 5_000,
    maxCallMs: deps.maxCallMs ?? 3_600_000,
    ...(deps.adopt === undefined ? {} : { adopt: deps.adopt }),
    settled(exchange, how, ms) {
      const { xid, method } = exchange.head;
      table.remove(xid, exchange);
      deps.onSettled?.({ xid, tenant: exchange.spec.tenant, server: exchange.spec.name, method, how, ms });
    },
  };

  function specOf(head: Pick<Open, 'principal' | 'server' | 'digest'>): ServerSpec | null {
    const spec = config.current().servers.get(serverId(head.principal.tenant, head.server));
    return spec !== undefined && spec.digest === head.digest ? spec : null;
  }

  function open(head: Open, body: Uint8Array, reply: StreamReply): OpenStream {
    if (draining) return refuse(reply, faultOf('draining'));
    const spec = specOf(head);
    if (spec === null) return refuse(reply, faultOf('stale-config'));
    const exchange = new DispatchedExchange(exchangeDeps, spec, head, body, reply);
    switch (table.add(head.xid, exchange, clock.now())) {
      case 'full':
        return refuse(reply, faultOf('busy', { retryAfterMs: 1_000 }));
      case 'taken':
        return refuse(reply, faultOf('refused', { message: 'this exchange runs here already', mayHaveRun: true }));
      case 'cancelled':
        return refuse(reply, faultOf('cancelled'));
      case 'added':
        void exchange.run();
        return exchange;
    }
  }

  function cancel(head: Cancel): void {
    if (table.cancel(head, clock.now()) !== 'foreign') return;
    log.warn({ audit: 'foreign-cancel', xid: head.xid, tenant: head.principal.tenant }, 'cancel of a foreign exchange');
    deps.onForeignCancel?.({ xid: head.xid, principal: head.principal });
  }

  return {
    open,
    cancel,
    listen(head, reply) {
      if (deps.listen !== undefined) return deps.listen(head, reply);
      return refuse(reply, faultOf('refused', { message: 'this node does not serve listens' }));
    },
    notify: (head) => deps.notify?.(head),
    get size() {
      return table.size;
    },
    drain() {
      draining = true;
    },
    close(words) {
      draining = true;
      for (const exchange of table.all()) exchange.lose(words);
    },
  };
}

function refuse(reply: StreamReply, fault: ReturnType<typeof faultOf>): OpenStream {
  reply.fault(fault);
  return GONE;
}
