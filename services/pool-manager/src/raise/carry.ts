// What we may declare upstream of what the caller declared (protocol.md §5.0 I2): only what can be carried back to it.
// Until parked exchanges exist, nothing that lets the upstream ask.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { projectCapabilities } from '@lockkeeper/protocol/mcp/fingerprint';

type Part = Pick<ServerSpec, 'ask' | 'isolation'>;

/** `revision` is the one spoken upstream; `asks`: a `Questions` is there to take what it asks. */
export function carried(declared: ClientCapabilities, spec: Part, revision: string, asks: boolean): ClientCapabilities {
  const projected = projectCapabilities(declared, spec.ask, spec.isolation, revision);
  return asks ? projected : withoutAsking(projected);
}

export function withoutAsking(capabilities: ClientCapabilities): ClientCapabilities {
  const { extensions } = capabilities;
  return extensions === undefined ? {} : { extensions };
}

/** Whether a process initialised with these may ask: then one call runs on it at a time (design §5 "Baton"). */
export function letsAsk(c: ClientCapabilities): boolean {
  return c.roots !== undefined || c.sampling !== undefined || c.elicitation !== undefined;
}
