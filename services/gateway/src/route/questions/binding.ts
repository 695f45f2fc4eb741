// What a state is bound to, and for how long (protocol.md §5.5 "digest", Part 6 #5): the person and the program, the
// route and its tenant, the method and the params. The same on every replica.

import type { Ask, Exchange } from '../../exchange.ts';
import { paramsDigest } from '../../seal/digest.ts';
import type { StateBinding } from '../../seal/state.ts';

/** The node's deadline answers the server first; a retry just behind it hears how it ended. */
const GRACE_MS = 60 * 1000;

export function bindingOf(exchange: Exchange, ask: Ask): StateBinding {
  const { route, caller } = exchange;
  return {
    tenant: route.tenant,
    route: route.path,
    principal: caller.principal,
    method: ask.method,
    params: paramsDigest(ask.method, ask.bytes, ask.params),
  };
}

/** Without a client to name, a state could be taken up by any other program of that person (design §7). */
export function bound(exchange: Exchange): boolean {
  return exchange.caller.principal.client !== null;
}

export function sealTtlMs(exchange: Exchange): number {
  return exchange.snapshot.limits.humanMs + GRACE_MS;
}
