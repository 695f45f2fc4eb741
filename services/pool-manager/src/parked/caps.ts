// How many exchanges may wait for people, per person and per server (protocol.md §5.5 "abandonment"): those who never
// come back must not take every process with them.

import type { Askable } from './contract.ts';

export interface ParkedCaps {
  /** Idempotent. */
  enter(exchange: Askable): boolean;
  leave(exchange: Askable): void;
  readonly size: number;
}

export function createParkedCaps(limits: () => { perPrincipal: number; perServer: number }): ParkedCaps {
  const inside = new Map<Askable, readonly [string, string]>();
  const counts = new Map<string, number>();

  function add(key: string, n: number): void {
    const sum = (counts.get(key) ?? 0) + n;
    if (sum === 0) counts.delete(key);
    else counts.set(key, sum);
  }

  return {
    enter(exchange) {
      if (inside.has(exchange)) return true;
      const { principal, spec } = exchange;
      const person = JSON.stringify(['p', principal.tenant, principal.issuer, principal.subject]);
      const server = JSON.stringify(['s', spec.tenant, spec.name]);
      const { perPrincipal, perServer } = limits();
      if ((counts.get(person) ?? 0) >= perPrincipal || (counts.get(server) ?? 0) >= perServer) return false;
      inside.set(exchange, [person, server]);
      add(person, 1);
      add(server, 1);
      return true;
    },
    leave(exchange) {
      for (const key of inside.get(exchange) ?? []) add(key, -1);
      inside.delete(exchange);
    },
    get size() {
      return inside.size;
    },
  };
}
