// Which era and transport a server by URL has (protocol.md §4.2, the HTTP row): `server/discover`, then `initialize` over
// Streamable HTTP, then the stream of 2024-11-05. A step is only left for the next by an answer that speaks for an older
// server; refusals of credentials, faults of the server, silence and everything on the way to it say nothing and are
// remembered nowhere (ops/decisions).

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Connection } from '../raise/contract.ts';
import { StartError } from '../raise/contract.ts';
import { evidenceOf, type Finder, type FinderDeps, type Found, type LegacyFound, probed } from '../raise/finder.ts';
import { NO_PLACE } from '../raise/place.ts';
import { Contradiction } from '../raise/start.ts';

const TOLD: LegacyFound = { profile: null, evidence: 'its era is configured', weak: false };

export function createRemoteFinder(deps: FinderDeps): Finder {
  const { starter, spares, log, signal } = deps;

  async function find(spec: ServerSpec, probeMs: number): Promise<Found> {
    const first = spec.era === 'legacy' ? TOLD : await asked(spec, probeMs);
    if (first.profile !== null) return first;
    try {
      return await introduced(spec, evidenceOf(first));
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error;
      // It was silent and yet refuses `initialize`: a modern server that is slow is given its whole time.
      const second = first.weak ? await asked(spec, spec.startTimeoutMs) : first;
      if (second.profile !== null) return second;
      throw new StartError(`it is no MCP server of any era: ${second.evidence}; ${error.words}`, '');
    }
  }

  /** Legacy is only believed once `initialize` was answered; that session is the first caller's. */
  async function introduced(spec: ServerSpec, evidence: string): Promise<Found> {
    const connection = await oldest(spec, evidence);
    spares.put(spec, connection, NO_PLACE);
    const { profile } = connection;
    const { era, transport } = profile;
    log.info({ server: spec.name, tenant: spec.tenant, era, transport, evidence }, 'era found');
    return { profile, shared: profile };
  }

  async function oldest(spec: ServerSpec, evidence: string): Promise<Connection> {
    const by = (transport: 'streamable' | 'sse') => starter.legacy(spec, {}, evidence, signal, transport);
    try {
      return await by('streamable');
    } catch (error) {
      if (!(error instanceof Contradiction) || spec.http?.transport !== 'auto') throw error;
      return await by('sse').catch((late: unknown) => {
        const words = late instanceof Contradiction || late instanceof StartError ? late.words : String(late);
        throw new Contradiction(`${error.words}; as HTTP+SSE: ${words}`, '');
      });
    }
  }

  const asked = (spec: ServerSpec, deadlineMs: number) => probed(deps, spec, deadlineMs, NO_PLACE);

  return { find, asked };
}
