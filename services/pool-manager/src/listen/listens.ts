// The node's side of `listen` (design §4): which source a listen belongs to, and which process to which source. Pools
// are looked over the shoulder for that: every lease says whose process it is.

import { type ConfigSource, type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { Listen } from '@lockkeeper/protocol/link/frames';
import { poolKey } from '@lockkeeper/protocol/link/keys';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import { ownerOf } from '../dispatch-lease.ts';
import { faultOf } from '../errors.ts';
import type { Dispatcher, OpenStream, Ownership, StreamReply } from '../link/contract.ts';
import type { Lease, LeaseRequest, Pools } from '../pool/contract.ts';
import { carried, letsAsk } from '../raise/carry.ts';
import { type Connector, type FaultHead, type Log, StartError } from '../raise/contract.ts';
import { configured } from '../raise/override.ts';
import { declaredOf, LIST_KINDS, type Wanted } from './contract.ts';
import { Outlet } from './outlet.ts';
import { Source } from './source.ts';

export interface ListensDeps {
  /** This node's id; absent where there is no other. */
  readonly node?: string;
  readonly config: ConfigSource;
  readonly connector: Pick<Connector, 'profile'>;
  readonly pools: Pick<Pools, 'lease'>;
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** As the dispatcher's: both must ask for the same kind of process. */
  readonly asks: () => boolean;
}

export interface Listens {
  readonly listen: Dispatcher['listen'];
  /** Looks at a lease on its way from the pools to whoever asked for it. */
  lease<L extends Lease>(request: LeaseRequest, lent: Promise<L>): Promise<L>;
  /** Owner keys that this node has lost: whoever has them now is to be listened to. */
  lost(owners: readonly string[]): void;
  drain(): void;
  close(): void;
}

/** Own leases of the pool are kept as long as somebody listens (state/nodes/ownership.ts releases idle ones). */
const CLAIM_MS = 5 * 60_000;
const MAX_URIS = 10_000;

export function createListens(deps: ListensDeps): Listens {
  const { config, clock, log } = deps;
  const sources = new Map<string, Source>();
  const open = new Map<string, Set<() => void>>();
  let draining = false;

  const unwatch = config.onChange(() => {
    for (const [owner, source] of sources) {
      if (specOf(source.spec.tenant, source.spec.name, source.spec.digest) === null)
        end(owner, faultOf('stale-config'));
    }
  });

  function specOf(tenant: string, server: string, digest: string): ServerSpec | null {
    const spec = config.current().servers.get(serverId(tenant, server));
    return spec !== undefined && spec.digest === digest ? spec : null;
  }

  function end(owner: string, fault: FaultHead): void {
    const source = sources.get(owner);
    if (source === undefined) return;
    sources.delete(owner);
    source.end(fault);
    for (const stop of open.get(owner) ?? []) stop();
    open.delete(owner);
  }

  function sourceOf(owner: string, spec: ServerSpec, head: Listen | null): Source {
    const known = sources.get(owner);
    if (known !== undefined) return known;
    const source = new Source(spec, {
      pools: { lease: (request) => lease(request, deps.pools.lease(request)) },
      clock,
      random: deps.random,
      idle: () => forget(owner),
      declared: (wanted) => declared(spec, wanted),
      request: (signal) => requestFor(owner, spec, head, signal),
      failed: (error) => {
        const why = error instanceof StartError ? error.words : String(error);
        log.warn({ server: spec.name, tenant: spec.tenant, why }, 'no process to subscribe at');
      },
    });
    sources.set(owner, source);
    return source;
  }

  /**
   * A modern server that keeps its answer private is taken at its acknowledgement; one whose era the operator has told, at
   * what its process says: before that nothing is known of it.
   */
  async function declared(spec: ServerSpec, wanted: Wanted): Promise<Wanted> {
    const { era, capabilities } = await deps.connector.profile(spec, new AbortController().signal);
    const untold = Object.keys(capabilities).length === 0 && (era === 'modern' || configured(spec) !== null);
    return untold ? wanted : declaredOf(wanted, capabilities);
  }

  async function requestFor(
    owner: string,
    spec: ServerSpec,
    head: Listen | null,
    signal: AbortSignal,
  ): Promise<LeaseRequest> {
    if (head === null) throw new Error('nobody listens');
    const profile = await deps.connector.profile(spec, signal);
    const capabilities =
      profile.era === 'legacy' ? carried(head.capabilities, spec, profile.revision, deps.asks()) : {};
    const fingerprint = fingerprintOf(capabilities);
    return {
      ...{ spec, owner, capabilities, fingerprint, signal },
      key: poolKey(owner, fingerprint),
      principal: head.principal,
      alone: spec.isolation === 'exclusive' || letsAsk(capabilities),
      waitMs: config.current().limits.queueMs,
    };
  }

  function listen(head: Listen, reply: StreamReply): OpenStream {
    const spec = specOf(head.principal.tenant, head.server, head.digest);
    if (draining || spec === null) {
      reply.fault(faultOf(draining ? 'draining' : 'stale-config'));
      return { vanished: () => {} };
    }
    if (head.filter.uris.length > MAX_URIS) {
      reply.fault(faultOf('refused', { message: 'too many subscriptions' }));
      return { vanished: () => {} };
    }
    const { name: server, isolation } = spec;
    const owner = ownerOf(spec, head, deps.node ?? '');
    const outlet = new Outlet(wantedOf(head), reply, clock);
    let over = false;
    let timer: Timer | null = null;

    const stop = (): void => {
      over = true;
      timer?.clear();
      open.get(owner)?.delete(stop);
      if (open.get(owner)?.size === 0) open.delete(owner);
    };
    const leave = (fault: FaultHead | null): void => {
      if (over) return;
      stop();
      if (fault !== null) outlet.end(fault);
      const source = sources.get(owner);
      source?.leave(outlet);
      forget(owner);
    };
    /** Also while it lasts: an idle key would be given up. */
    const claim = async (): Promise<void> => {
      const claimed = await deps.ownership.claim(spec.tenant, owner);
      if (over) return;
      if (claimed.kind === 'moved') return leave(faultOf('moved', { node: claimed.node }));
      if (claimed.kind === 'unreachable' && isolation === 'session') return leave(faultOf('unavailable'));
      timer = clock.setTimer(CLAIM_MS, () => void claim().catch(failed));
      timer.unref?.();
    };
    const failed = (error: unknown): void => {
      if (over) return;
      const start = error instanceof StartError;
      if (!start) log.warn({ err: error, server, tenant: spec.tenant }, 'a listen failed');
      leave(start ? faultOf('start-failed', { message: error.words }) : faultOf('internal'));
    };
    const run = async (): Promise<void> => {
      await claim();
      if (over) return;
      reply.started();
      const stops = open.get(owner) ?? new Set();
      open.set(owner, stops.add(stop));
      await sourceOf(owner, spec, head).join(outlet);
    };
    void run().catch(failed);
    return { vanished: () => leave(null) };
  }

  function lease<L extends Lease>(request: LeaseRequest, lent: Promise<L>): Promise<L> {
    lent.then(
      ({ connection }) => {
        if (!draining) sourceOf(request.owner, request.spec, null).appeared(connection, request);
      },
      () => {}, // whoever asked for it hears of it
    );
    return lent;
  }

  function forget(owner: string): void {
    if (sources.get(owner)?.idle === true) sources.delete(owner);
  }

  return {
    listen,
    lease,
    lost(owners) {
      for (const owner of owners) end(owner, faultOf('lost', { message: 'another node serves this caller' }));
    },
    drain() {
      draining = true;
      for (const owner of [...open.keys()]) end(owner, faultOf('draining'));
    },
    close() {
      draining = true;
      unwatch();
      for (const owner of [...sources.keys()]) end(owner, faultOf('draining'));
    },
  };
}

function wantedOf({ filter }: Listen): Wanted {
  return { lists: new Set(LIST_KINDS.filter((kind) => filter[kind])), uris: new Set(filter.uris) };
}
