// What an `open` means (design §4): the spec it names, the exchange it starts, the cancel that finds it. The link owns
// streams and credit, the pools own processes; this file joins them.

import { type ConfigSource, type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { Cancel, Notify, Open, Principal } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExchangeDeps } from './dispatch-contract.ts';
import { DispatchedExchange } from './dispatch-exchange.ts';
import { ExchangeTable, sameCaller } from './dispatch-table.ts';
import { faultOf } from './errors.ts';
import type { KeptState } from './lease/kept-state.ts';
import type { Dispatcher, OpenStream, Ownership, StreamReply } from './link/contract.ts';
import type { Ended, Parked } from './parked/contract.ts';
import { createReturns } from './parked/returns.ts';
import { readState } from './parked/state-text.ts';
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
  /** This node's id; absent where there is no other. */
  readonly node?: string;
  readonly config: ConfigSource;
  readonly connector: Pick<Connector, 'known' | 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The same whose `questions` the connector was given; both together, or the pool keys lie. */
  readonly parked?: Parked;
  readonly keptState?: KeptState;
  readonly maxExchanges?: number;
  /** Bytes of one exchange that its gateway has not taken yet. */
  readonly maxQueuedBytes?: number;
  readonly slowMs?: number;
  readonly probeMs?: number;
  readonly maxCallMs?: number;
  readonly batonMs?: number;
  readonly rejoinMs?: number;
  readonly tellMs?: number;
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
  /** As `close`, but for tasks and what a person is part of: they have a grace of their own (design §5 "Drain"). */
  closeQuick(words: string, elsewhere?: boolean): void;
  /** Ends what is still under way as `lost`, or sends it elsewhere where it may begin anew. */
  close(words: string, elsewhere?: boolean): void;
  /** The node lives under a new incarnation: no state of before can find it. */
  reborn(words: string): void;
  /** Resolves when nothing is under way, what is parked included. */
  idle(): Promise<void>;
}

const GONE: OpenStream = { vanished: () => {} };

export function createDispatcher(deps: DispatcherDeps): DrainingDispatcher {
  const { config, clock, log } = deps;
  const table = new ExchangeTable<DispatchedExchange>(deps.maxExchanges ?? 50_000);
  const waiting: (() => void)[] = [];
  let draining = false;
  let repeats = 0;

  const returns = createReturns(deps.node ?? '');
  const exchangeDeps: ExchangeDeps = {
    node: deps.node ?? '',
    connector: deps.connector,
    pools: deps.pools,
    ownership: deps.ownership,
    clock,
    log,
    parked: deps.parked,
    returns,
    humanMs: () => config.current().limits.humanMs,
    keptState: deps.keptState,
    batonMs: deps.batonMs ?? 3_000,
    rejoinMs: deps.rejoinMs ?? 5_000,
    queueMs: () => config.current().limits.queueMs,
    tellMs: deps.tellMs ?? 10_000,
    flow: {
      now: () => clock.now(),
      maxQueuedBytes: deps.maxQueuedBytes ?? 1024 * 1024,
      slowMs: deps.slowMs ?? 30_000,
    },
    probeMs: deps.probeMs ?? 5_000,
    maxCallMs: deps.maxCallMs ?? 3_600_000,
    ...(deps.adopt === undefined ? {} : { adopt: deps.adopt }),
    settled(exchange, how, ms) {
      const { xid, method } = exchange.head;
      table.remove(xid, exchange);
      if (table.size === 0) for (const resolve of waiting.splice(0)) resolve();
      deps.onSettled?.({ xid, tenant: exchange.spec.tenant, server: exchange.spec.name, method, how, ms });
    },
  };

  function specOf(head: Pick<Open, 'principal' | 'server' | 'digest'>): ServerSpec | null {
    const spec = config.current().servers.get(serverId(head.principal.tenant, head.server));
    return spec !== undefined && spec.digest === head.digest ? spec : null;
  }

  function open(head: Open, body: Uint8Array, reply: StreamReply): OpenStream {
    const state = head.state === undefined ? null : readState(head.state);
    if (head.wait === true || state?.kind === 'held' || (head.state !== undefined && state === null)) {
      return rejoin(head, body, reply, state);
    }
    const back = state?.mark === undefined ? undefined : returns.find(state.mark);
    // While its process lives a retry is served to the end (design §5 "Drain").
    if (draining && back === undefined) return refuse(reply, faultOf('draining'));
    const spec = specOf(head);
    if (spec === null) return refuse(reply, faultOf('stale-config'));
    // A modern server's own state goes back to it as it was; nothing of the earlier rounds is here.
    const again = table.get(head.xid) === undefined ? head.xid : `${head.xid}~${++repeats}`;
    if (state === null) return begin(new DispatchedExchange(exchangeDeps, spec, head, body, reply), reply);
    const { state: _ours, ...rest } = head;
    const first = { ...rest, xid: again, ...(state.state === undefined ? {} : { state: state.state }) };
    const to = back === undefined ? undefined : { connection: back, unclaimed: draining };
    return begin(new DispatchedExchange(exchangeDeps, spec, first, body, reply, to), reply);
  }

  /** A retry or a join of what is held here; found by its id, whatever the configuration says by now. */
  function rejoin(head: Open, body: Uint8Array, reply: StreamReply, state: ReturnType<typeof readState>): OpenStream {
    const own = state === null ? head.state === undefined : state.kind === 'held' && state.xid === head.xid;
    const exchange = own ? table.get(head.xid) : undefined;
    if (exchange === undefined) return own ? afterwards(head, reply) : refuse(reply, faultOf('unknown-exchange'));
    if (sameCaller(exchange, head)) return exchange.rejoin(head, body, reply, state);
    // In the same words as what never was.
    deps.parked?.audit({ what: 'foreign-state', xid: head.xid, principal: head.principal });
    return refuse(reply, faultOf('unknown-exchange'));
  }

  function afterwards(head: Open, reply: StreamReply): OpenStream {
    const tell = (ended: Ended | null) => {
      if (ended === null) return reply.fault(faultOf('unknown-exchange'));
      reply.accepted();
      const { fromSeq } = head;
      const missed = fromSeq === undefined ? [] : (ended.said ?? []).filter(({ seq }) => seq > fromSeq);
      for (const { method, members, seq } of missed) reply.event(method, members, seq);
      if (ended.kind === 'result') reply.result(ended.head, ended.members);
      else reply.fault(ended.head);
    };
    const ended = deps.parked?.outcome(head) ?? null;
    if (ended instanceof Promise) void ended.then(tell);
    else tell(ended);
    return GONE;
  }

  function begin(exchange: DispatchedExchange, reply: StreamReply): OpenStream {
    const { head } = exchange;
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
    closeQuick(words, elsewhere) {
      for (const exchange of table.all()) if (!exchange.lasting) exchange.lose(words, elsewhere);
    },
    close(words, elsewhere) {
      draining = true;
      for (const exchange of table.all()) exchange.lose(words, elsewhere);
    },
    reborn(words) {
      for (const exchange of table.all()) exchange.orphaned(words);
    },
    idle: () => (table.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

function refuse(reply: StreamReply, fault: ReturnType<typeof faultOf>): OpenStream {
  reply.fault(fault);
  return GONE;
}
