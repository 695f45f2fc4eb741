// Probe, verdict, start (design §5 "Life of a process"): an unknown server is asked on a disposable process, the answer
// is kept and dated, and a process that contradicts it has it dropped and asked for once more.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities, Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Spawn } from '../child/contract.ts';
import type { RemoteSpawn } from '../remote/contract.ts';
import { createRemoteFinder } from '../remote/finder.ts';
import { withoutAsking } from './carry.ts';
import { type Change, type Connection, type Connector, type Log, type Questions, StartError } from './contract.ts';
import { createFinder, evidenceOf, isWeak } from './finder.ts';
import { configured } from './override.ts';
import { type Loan, NO_PLACE, orAborted, type Places, UNBOUNDED } from './place.ts';
import { createSpares } from './spares.ts';
import { Contradiction, createStarter, MAX_WAIT_MS, type StarterLimits } from './start.ts';
import { createVerdicts } from './verdicts.ts';

export interface ConnectorTimings {
  /** Longest wait for `server/discover`; half the start time-out where that is less (GB-036). */
  readonly probeMs: number;
  readonly verdictTtlMs: number;
  /** A legacy verdict older than this is checked again behind a next start. */
  readonly reprobeMs: number;
  /** The same where it rests on silence or an exit: a slow modern server looks like that. */
  readonly weakReprobeMs: number;
  readonly spareMs: number;
  readonly rereadMs: number;
  readonly pollMs: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

export const CONNECTOR_TIMINGS: ConnectorTimings = {
  probeMs: 5_000,
  verdictTtlMs: 7 * 86_400_000,
  reprobeMs: 86_400_000,
  weakReprobeMs: 3_600_000,
  spareMs: 10_000,
  rereadMs: 300_000,
  pollMs: 200,
  backoffMs: 1_000,
  maxBackoffMs: 30_000,
};

export interface ConnectorDeps {
  readonly spawn: Spawn;
  /** For servers by URL; absent: there are none. */
  readonly remote?: RemoteSpawn;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** How we introduce ourselves upstream. */
  readonly clientInfo: Implementation;
  /** Unguessable text, for the lock. */
  readonly token: () => string;
  limits(): StarterLimits;
  /** Absent: nothing that asks is declared upstream. */
  readonly questions?: Questions;
  readonly onChange?: (spec: ServerSpec, change: Change) => void;
  /** A server that nothing is known of could not be started or reached to ask it. */
  readonly onUnusable?: (spec: ServerSpec, error: StartError) => void;
  /** For processes that are in no pool; asked only later. Absent: there is room for all of them. */
  readonly places?: () => Places;
  readonly timings?: Partial<ConnectorTimings>;
}

export function createConnector(deps: ConnectorDeps): Connector {
  const { clock, log } = deps;
  const timings = { ...CONNECTOR_TIMINGS, ...deps.timings };
  const closing = new AbortController();
  const background = new Set<Promise<void>>();
  const rechecking = new Set<string>();
  const spares = createSpares(clock, timings.spareMs);
  const places = () => deps.places?.() ?? UNBOUNDED;

  const starter = createStarter({
    spawn: deps.spawn,
    remote: deps.remote,
    clock,
    log,
    clientInfo: deps.clientInfo,
    limits: deps.limits,
    questions: deps.questions,
    changed: (spec, change) => deps.onChange?.(spec, change),
    contradicted: (spec, words) => behind(verdicts.drop(spec, words)),
  });

  const finding = { starter, spares, log, signal: closing.signal };
  const [local, remote] = [createFinder(finding), createRemoteFinder(finding)];
  const finderOf = (spec: ServerSpec) => (spec.http === undefined ? local : remote);
  const verdicts = createVerdicts({
    store: deps.store,
    clock,
    log,
    token: deps.token,
    place: (spec) => (spec.http === undefined ? places().take(spec) : Promise.resolve(NO_PLACE)),
    find: (spec, place) => finderOf(spec).find(spec, probeMs(spec), place),
    failed: (spec, error) => deps.onUnusable?.(spec, error),
    timings: {
      ttlMs: timings.verdictTtlMs,
      rereadMs: timings.rereadMs,
      lockMs: (spec) => probeMs(spec) + 3 * spec.startTimeoutMs + 5_000,
      pollMs: timings.pollMs,
      backoffMs: timings.backoffMs,
      maxBackoffMs: timings.maxBackoffMs,
    },
  });

  function probeMs(spec: ServerSpec): number {
    return Math.max(1, Math.min(timings.probeMs, Math.floor(spec.startTimeoutMs / 2)));
  }

  /** Work nobody waits for; `close` does. */
  function behind(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => log.warn({ err: error }, 'era verdicts: background work failed'))
      .finally(() => background.delete(done));
    background.add(done);
  }

  /** A server upgraded to both eras keeps answering `initialize`: only asking again finds out (protocol.md §5.8 #22). */
  function recheck(spec: ServerSpec, profile: Profile): void {
    const weak = isWeak(profile);
    const due = profile.foundAt + (weak ? timings.weakReprobeMs : timings.reprobeMs);
    if (spec.era !== 'auto' || profile.era !== 'legacy' || clock.now() < due || rechecking.has(spec.digest)) return;
    // Nobody waits for it, so nobody goes for it.
    const place = spec.http === undefined ? places().left(spec) : NO_PLACE;
    if (place === null) return;
    rechecking.add(spec.digest);
    behind(
      (async () => {
        const deadlineMs = weak ? spec.startTimeoutMs : probeMs(spec);
        const finder = finderOf(spec);
        // The oldest transport may have been replaced within its era, too.
        const whole = profile.transport === 'sse';
        const again = await (whole ? finder.find : finder.asked)(spec, deadlineMs, place);
        if (again.profile !== null) return verdicts.put(spec, again.profile, again.shared);
        const evidence = evidenceOf(again);
        const renewed = { ...profile, foundAt: clock.now(), evidence };
        return verdicts.put(spec, renewed, renewed);
      })().finally(() => {
        place.done();
        rechecking.delete(spec.digest);
      }),
    );
  }

  async function start(
    spec: ServerSpec,
    profile: Profile,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
    loan?: Loan,
  ): Promise<Connection> {
    const both = AbortSignal.any([signal, closing.signal]);
    const spare = spares.take(spec, profile.era === 'modern' ? '' : fingerprintOf(capabilities));
    if (spare !== null) return spare;
    // What was found in its own place makes way.
    await loan?.cleared();
    if (profile.era === 'modern') return starter.modern(spec, both);
    return starter.legacy(spec, capabilities, profile.evidence, both, profile.transport);
  }

  /** The operator's word stands: a contradiction is a failure to start. */
  async function asConfigured(
    spec: ServerSpec,
    profile: Profile,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
  ): Promise<Connection> {
    try {
      return await start(spec, profile, capabilities, signal);
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error;
      const what =
        spec.era === 'auto' ? `transport is configured as ${profile.transport}` : `era is configured as ${spec.era}`;
      throw new StartError(`${error.words} (its ${what})`, error.stderrTail);
    }
  }

  /** Its place is had meanwhile by whoever finds out what to speak: a cap of one would let neither go first. */
  async function byVerdict(
    spec: ServerSpec,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
  ): Promise<Connection> {
    if (spec.http !== undefined) return twice(spec, capabilities, signal);
    const loan = places().lend(spec, signal);
    try {
      return await twice(spec, capabilities, signal, loan);
    } finally {
      await loan.back();
    }
  }

  async function twice(
    spec: ServerSpec,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
    loan?: Loan,
  ): Promise<Connection> {
    const profile = await orAborted(verdicts.get(spec), signal);
    try {
      const connection = await start(spec, profile, capabilities, signal, loan);
      recheck(spec, profile);
      return connection;
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error;
      await verdicts.drop(spec, error.words);
      return again(spec, capabilities, signal, loan);
    }
  }

  async function again(
    spec: ServerSpec,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
    loan?: Loan,
  ): Promise<Connection> {
    try {
      return await start(spec, await orAborted(verdicts.get(spec), signal), capabilities, signal, loan);
    } catch (error) {
      if (!(error instanceof Contradiction)) throw error;
      throw new StartError(error.words, error.stderrTail);
    }
  }

  return {
    connect(spec, capabilities, signal) {
      const declared = deps.questions === undefined ? withoutAsking(capabilities) : capabilities;
      const told = configured(spec);
      return told === null ? byVerdict(spec, declared, signal) : asConfigured(spec, told, declared, signal);
    },
    known: (spec) => configured(spec) ?? verdicts.known(spec),
    doubt(spec, why) {
      if (configured(spec) === null) behind(verdicts.drop(spec, why));
    },
    backingOff: verdicts.backingOff,
    profile(spec, signal, waitMs = deps.limits().queueMs ?? MAX_WAIT_MS) {
      const known = configured(spec) ?? verdicts.known(spec);
      if (known !== null) return Promise.resolve(known);
      return places().within(spec, waitMs, signal, () => verdicts.get(spec));
    },
    async close() {
      closing.abort(new StartError('the pool manager ends', ''));
      await Promise.all(background);
      await spares.close();
      await starter.close();
    },
  };
}
