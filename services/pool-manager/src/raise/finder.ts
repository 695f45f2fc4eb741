// How a verdict is found (protocol.md §4.2): a probe on a process of its own; where that is not modern, `initialize` on a
// fresh one, since legacy is only believed when that was answered (GB-028).

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { type Log, StartError } from './contract.ts';
import type { Place } from './place.ts';
import type { Spares } from './spares.ts';
import { Contradiction, type Starter } from './start.ts';

export interface FinderDeps {
  readonly starter: Pick<Starter, 'legacy' | 'probe'>;
  readonly spares: Pick<Spares, 'put'>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Found {
  readonly profile: Profile;
  /** What other nodes may read of it. */
  readonly shared: Profile;
}

/** Not modern, as far as a probe can tell. */
export interface LegacyFound {
  readonly profile: null;
  readonly evidence: string;
  readonly weak: boolean;
}

export interface Finder {
  /** Throws StartError. */
  find(spec: ServerSpec, probeMs: number, place: Place): Promise<Found>;
  /** The probe alone. Throws StartError where the command did not run, or no revision is in common. */
  asked(spec: ServerSpec, deadlineMs: number, place: Place): Promise<Found | LegacyFound>;
}

/** Marks, in the evidence, a verdict that rests on silence or an exit. */
const WEAK = ' (weak)';

export function evidenceOf(found: LegacyFound): string {
  return found.weak ? `${found.evidence}${WEAK}` : found.evidence;
}

export function isWeak(profile: Profile): boolean {
  return profile.evidence.endsWith(WEAK);
}

export function createFinder(deps: FinderDeps): Finder {
  const { starter, spares, log, signal } = deps;

  async function find(spec: ServerSpec, probeMs: number, place: Place): Promise<Found> {
    const first = await asked(spec, probeMs, place);
    if (first.profile !== null) return first;
    try {
      return await introduced(spec, evidenceOf(first), place);
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error;
      if (!first.weak) throw new StartError(error.words, error.stderrTail);
      // It was silent and yet refuses `initialize`: a modern server that starts slowly is given its whole time.
      const second = await asked(spec, spec.startTimeoutMs, place);
      if (second.profile !== null) return second;
      throw new StartError(error.words, error.stderrTail);
    }
  }

  /** Legacy is only believed once `initialize` was answered (GB-028); that process is the first caller's. */
  async function introduced(spec: ServerSpec, evidence: string, place: Place): Promise<Found> {
    await place.next();
    const connection = await starter.legacy(spec, {}, evidence, signal, 'streamable', place);
    spares.put(spec, connection, place);
    log.info({ server: spec.name, tenant: spec.tenant, era: 'legacy', evidence }, 'era found');
    return { profile: connection.profile, shared: connection.profile };
  }

  async function asked(spec: ServerSpec, deadlineMs: number, place: Place): Promise<Found | LegacyFound> {
    await place.next();
    return probed(deps, spec, deadlineMs, place);
  }

  return { find, asked };
}

/** The era may be shared; what the server calls private may not (protocol.md §4.2 "Share"). */
function shareable(profile: Profile): Profile {
  const { era, revision, supported, foundAt, evidence } = profile;
  return { era, revision, supported, capabilities: {}, foundAt, evidence };
}

/** The probe of any server, by command or by URL. */
export async function probed(
  { starter, spares, log, signal }: FinderDeps,
  spec: ServerSpec,
  deadlineMs: number,
  place: Place,
): Promise<Found | LegacyFound> {
  const { finding, connection, stderrTail } = await starter.probe(spec, deadlineMs, signal, place);
  switch (finding.kind) {
    case 'failed':
      throw new StartError(finding.exit.words, stderrTail, finding.denied);
    case 'no-common':
      throw new StartError(finding.words, stderrTail);
    case 'legacy':
      return { profile: null, evidence: finding.evidence, weak: finding.weak };
    case 'modern': {
      if (connection !== null) spares.put(spec, connection, place);
      const { profile, scope } = finding;
      log.info({ server: spec.name, tenant: spec.tenant, era: 'modern', evidence: profile.evidence }, 'era found');
      return { profile, shared: scope === 'public' ? profile : shareable(profile) };
    }
  }
}
