// What the route tells of its decisions, as metrics and log lines (design §9). The audit row is the leg's; here is what
// has no row of its own: a server left out of a list, a catalogue loaded, someone else's state tried.

import type { RouteObserver } from '../route/contract.ts';
import type { Log } from './logger.ts';
import type { Metrics } from './metrics.ts';

type Observed = Pick<Metrics, 'policyDecided' | 'catalogueLoaded' | 'serverLeftOut' | 'stateRefused'>;

export function createRouteObserver(metrics: Observed, log: Log): RouteObserver {
  return {
    decided: ({ route }, _server, _kind, _name, { allow, rule }) => metrics.policyDecided(route.tenant, rule, allow),
    catalogue: (kind, source) => metrics.catalogueLoaded(kind, source),
    unavailable(exchange, server, reason) {
      metrics.serverLeftOut(exchange.route.tenant, server, reason);
      const { xid, route } = exchange;
      log.warn('a server is left out', { xid, tenant: route.tenant, route: route.path, server, reason });
    },
    stateRefused(exchange, method, why) {
      metrics.stateRefused(why);
      // The others are clients that are late or mistaken; this one holds what was given to somebody else.
      if (why !== 'foreign') return;
      const { xid, route } = exchange;
      log.warn('a requestState was tried by another person or program', {
        ...{ xid, tenant: route.tenant, route: route.path, method },
      });
    },
  };
}
