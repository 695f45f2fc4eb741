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
  return new CallersSight(exchange, final, observer);
}

/** A class, since one is made for every call: a literal with a getter in it makes a shape of its own each time. */
class CallersSight implements Sight {
  readonly exchange: Exchange;
  readonly final: boolean;
  readonly servers: readonly ServerSpec[];
  private readonly observer: RouteObserver | undefined;
  private readonly subject: Subject;
  private judgedBy: string | undefined;

  constructor(exchange: Exchange, final: boolean, observer: RouteObserver | undefined) {
    const { snapshot, route, caller } = exchange;
    this.exchange = exchange;
    this.final = final;
    this.observer = observer;
    this.subject = { tenant: route.tenant, groups: caller.groups };
    const servers: ServerSpec[] = [];
    for (const name of route.servers) {
      const spec = snapshot.servers.get(serverId(route.tenant, name));
      if (spec !== undefined && KINDS.some((kind) => this.shows(name, kind))) servers.push(spec);
    }
    this.servers = servers;
  }

  get rule(): string | undefined {
    return this.judgedBy;
  }

  shows(server: string, kind: Kind): boolean {
    return reaches(this.exchange.snapshot, this.subject, server, kind);
  }

  sees(server: string, kind: Kind, name: string): boolean {
    return decide(this.exchange.snapshot, this.subject, server, kind, name).allow;
  }

  may(server: string, kind: Kind, name: string): boolean {
    const decision = decide(this.exchange.snapshot, this.subject, server, kind, name);
    this.judgedBy = decision.rule;
    this.observer?.decided?.(this.exchange, server, kind, name, decision);
    return decision.allow;
  }
}
