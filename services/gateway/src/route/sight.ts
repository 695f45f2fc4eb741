// What one caller may see of one route: the policy's decision applied to names, before any name becomes a thing.
// A server that the policy hides does not exist here, for lists and calls alike.

import { type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';
import type { Exchange } from '../exchange.ts';
import { decide, type Kind, reaches, type Subject } from '../policy/decide.ts';
import type { RouteObserver } from './contract.ts';

export interface Sight {
  readonly exchange: Exchange;
  /** No further try with a newer snapshot follows. */
  readonly final: boolean;
  /** Servers of the route of which anything may be seen, in configured order. */
  readonly servers: readonly ServerSpec[];
  /** For lists: no trace in the audit. */
  sees(server: string, kind: Kind, name: string): boolean;
  /** For calls: the same decision, told to the observer. */
  may(server: string, kind: Kind, name: string): boolean;
  shows(server: string, kind: Kind): boolean;
  /** The rule of the last call that was judged. */
  readonly rule: string | undefined;
}

const KINDS: readonly Kind[] = ['tool', 'prompt', 'resource'];

export function sightOf(exchange: Exchange, final: boolean, observer?: RouteObserver): Sight {
  const { snapshot, route, caller } = exchange;
  const subject: Subject = { tenant: route.tenant, groups: caller.groups };
  const shows = (server: string, kind: Kind) => reaches(snapshot, subject, server, kind);
  const servers: ServerSpec[] = [];
  for (const name of route.servers) {
    const spec = snapshot.servers.get(serverId(route.tenant, name));
    if (spec !== undefined && KINDS.some((kind) => shows(name, kind))) servers.push(spec);
  }
  let rule: string | undefined;
  return {
    exchange,
    final,
    get rule() {
      return rule;
    },
    servers,
    shows,
    sees: (server, kind, name) => decide(snapshot, subject, server, kind, name).allow,
    may(server, kind, name) {
      const decision = decide(snapshot, subject, server, kind, name);
      ({ rule } = decision);
      observer?.decided?.(exchange, server, kind, name, decision);
      return decision.allow;
    },
  };
}
