// How many requests one person has in flight (limits.maxInFlightPerPrincipal). Counted per replica; a person that has
// none is not in the table, so it is as large as the traffic and no larger.

import type { Caller, Exchange } from '../exchange.ts';

export interface InFlight {
  /** Null when there are too many already; else the way out, to be called once. */
  enter(exchange: Exchange): (() => void) | null;
}

export function createInFlight(): InFlight {
  const counts = new Map<string, number>();
  return {
    enter(exchange) {
      const who = nameOf(exchange.caller);
      const count = counts.get(who) ?? 0;
      if (count >= exchange.snapshot.limits.maxInFlightPerPrincipal) return null;
      counts.set(who, count + 1);
      return () => {
        const left = (counts.get(who) ?? 1) - 1;
        if (left > 0) counts.set(who, left);
        else counts.delete(who);
      };
    },
  };
}

/** Put together once for each caller, who mostly comes again. */
const names = new WeakMap<Caller, string>();

function nameOf(caller: Caller): string {
  let name = names.get(caller);
  if (name === undefined) {
    const { tenant, issuer, subject } = caller.principal;
    name = `${tenant}\n${issuer}\n${subject}`;
    names.set(caller, name);
  }
  return name;
}
