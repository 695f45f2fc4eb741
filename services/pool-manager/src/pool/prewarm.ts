// Processes that are there before anybody comes (`pool.minWarm` of a `shared` server): on the node where the first caller
// will be sent, and only there, at its start, after a reload, and when a node comes or goes (design §4 "Who owns a pool
// key"). The lease wins here too: who holds the key keeps its processes, whoever is first in order.

import { type ConfigSource, nodesOf, type ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import { ranked } from '@lockkeeper/state/nodes/rendezvous';
import { ownerOf } from '../dispatch-lease.ts';
import type { Ownership } from '../link/contract.ts';
import type { Log } from '../raise/contract.ts';
import { sharedOwner } from './facts.ts';

export interface PrewarmDeps {
  readonly config: ConfigSource;
  readonly node: string;
  readonly nodes: {
    live(): readonly NodeRecord[];
    onChange(listener: () => void): () => void;
  };
  readonly ownership: Pick<Ownership, 'claim'>;
  readonly pools: {
    warm(spec: ServerSpec, owner: string): void;
    cool(owner: string): void;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs?: number;
}

export interface Prewarm {
  start(): void;
  /** Looks no more; what is warm stays. Idempotent. */
  close(): void;
}

/** A key whose holder has just gone is free a little later. */
const EVERY_MS = 5_000;

export function createPrewarm(deps: PrewarmDeps): Prewarm {
  const { config, node, nodes, ownership, pools, clock, log } = deps;
  let timer: Timer | null = null;
  let looking = false;
  let again = false;
  let closed = false;
  const unwatch: (() => void)[] = [];

  /** Where gateways send new work of a server. */
  function isMine(spec: ServerSpec): boolean {
    const able = nodes.live().filter(({ draining }) => !draining);
    return ranked(sharedOwner(spec), able)
      .slice(0, nodesOf(spec))
      .some(({ id }) => id === node);
  }

  async function look(spec: ServerSpec): Promise<void> {
    const principal = { tenant: spec.tenant, issuer: '', subject: '', client: null };
    const owner = ownerOf(spec, { principal, session: null }, node);
    if (isMine(spec)) {
      const { kind } = await ownership.claim(spec.tenant, owner);
      if (kind === 'held' && !closed) pools.warm(spec, owner);
    } else if (nodesOf(spec) > 1) pools.cool(owner);
  }

  async function round(): Promise<void> {
    looking = true;
    do {
      again = false;
      for (const spec of config.current().servers.values()) {
        if (spec.isolation === 'shared' && spec.pool.minWarm > 0 && !closed) await look(spec);
      }
    } while (again && !closed);
    looking = false;
  }

  function poke(): void {
    again = true;
    if (looking || closed) return;
    timer?.clear();
    round()
      .catch((error: unknown) => {
        looking = false;
        log.warn({ err: error }, 'processes could not be started before they are needed');
      })
      .finally(() => {
        if (!closed) timer = clock.setTimer(deps.everyMs ?? EVERY_MS, poke);
      });
  }

  return {
    start() {
      unwatch.push(nodes.onChange(poke), config.onChange(poke));
      poke();
    },
    close() {
      closed = true;
      timer?.clear();
      for (const stop of unwatch.splice(0)) stop();
    },
  };
}
