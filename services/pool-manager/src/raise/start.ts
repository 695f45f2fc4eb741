// From a spec to a connection: spawn, then speak the era it is thought to have. A process that does not answer as it
// should is ended here; nobody gets to see it.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities, Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import { CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION } from '@lockkeeper/protocol/mcp/meta';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Clock } from '@lockkeeper/state/clock';
import type { Child, ChildEvents, Spawn } from '../child/contract.ts';
import type { RemoteSpawn, Way } from '../remote/contract.ts';
import { createTaskTools } from '../tasks/task-tools.ts';
import { RaisedConnection } from './connection.ts';
import { type Change, type Connection, type Log, type Questions, StartError } from './contract.ts';
import { introduce } from './legacy/handshake.ts';
import { createAsked } from './legacy/requests.ts';
import { LegacySpeaker } from './legacy/speaker.ts';
import { discover, type Finding } from './modern/discover.ts';
import { createRefreshTools } from './modern/refresh-tools.ts';
import { ModernSpeaker } from './modern/speaker.ts';
import type { Place } from './place.ts';
import { SideOfWire } from './side.ts';
import { Wire } from './wire/wire.ts';

export interface StarterLimits {
  readonly maxResultBytes: number;
  readonly listTtlMs: number;
  /** Longest wait for a child that does not read. */
  readonly queueMs?: number;
}

/** Where no limit is given. */
export const MAX_WAIT_MS = 30_000;

export interface StarterDeps {
  readonly spawn: Spawn;
  /** For servers by URL; absent: there are none. */
  readonly remote?: RemoteSpawn | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly clientInfo: Implementation;
  limits(): StarterLimits;
  readonly questions?: Questions | undefined;
  changed(spec: ServerSpec, change: Change): void;
  /** A running connection behaves as if its era were another. */
  contradicted(spec: ServerSpec, words: string): void;
}

/** The answer was not of the era it was asked in: the verdict may be stale. */
export class Contradiction extends Error {
  readonly words: string;
  readonly stderrTail: string;
  constructor(words: string, stderrTail: string) {
    super(words);
    this.words = words;
    this.stderrTail = stderrTail;
  }
}

export interface Starter {
  /** Throws Contradiction when `initialize` was answered, but not by a legacy server. */
  legacy(
    spec: ServerSpec,
    capabilities: ClientCapabilities,
    evidence: string,
    signal: AbortSignal,
    /** Of a server by URL. */
    transport?: 'streamable' | 'sse',
    /** Of who finds its era; else the process is its pool's. */
    place?: Place,
  ): Promise<Connection>;
  /** Throws Contradiction when the process gave another answer than a modern one's. */
  modern(spec: ServerSpec, signal: AbortSignal): Promise<Connection>;
  /** Asks a process of its own what it is. A modern one comes back as a connection. */
  probe(
    spec: ServerSpec,
    deadlineMs: number,
    signal: AbortSignal,
    place: Place,
  ): Promise<{ readonly finding: Finding; readonly connection: Connection | null; readonly stderrTail: string }>;
  /** Waits for the processes that were ended here. */
  close(): Promise<void>;
}

export function createStarter(deps: StarterDeps): Starter {
  const endings = new Set<Promise<void>>();
  const maxWaitMs = () => deps.limits().queueMs ?? MAX_WAIT_MS;
  const lineUp = { clock: deps.clock, maxWaitMs, waiting: { bytes: 0 } };

  function end(wire: Wire, why: string): void {
    const ending = wire.stop(why).finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function spawned(spec: ServerSpec, events: ChildEvents, way: Way): Child {
    if (spec.http === undefined) return deps.spawn(spec, events);
    if (deps.remote === undefined) throw new StartError('this node does not serve servers by URL', '');
    return deps.remote(spec, events, way);
  }

  /** Runs `work` on a fresh process, which ends when the signal does. */
  async function onProcess<T>(
    spec: ServerSpec,
    way: Way,
    signal: AbortSignal,
    work: (wire: Wire) => Promise<T>,
    place?: Place,
  ): Promise<T> {
    signal.throwIfAborted();
    const wire = new Wire(spec, (its, events) => spawned(its, events, way), deps.log, lineUp);
    // What it has started itself goes after it.
    place?.holds(wire.closed.then(() => wire.stop('it has ended')));
    const leave = () => end(wire, 'nobody waits for it any more');
    signal.addEventListener('abort', leave, { once: true });
    try {
      const value = await work(wire);
      signal.throwIfAborted();
      return value;
    } catch (error) {
      signal.throwIfAborted();
      end(wire, 'it could not be started');
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async function legacyConnection(
    spec: ServerSpec,
    wire: Wire,
    profile: Profile,
    declared: ClientCapabilities,
  ): Promise<Connection> {
    let connection: Connection | null = null;
    const asked = createAsked({ wire, declared, questions: deps.questions, connection: () => connection });
    const { listTtlMs } = deps.limits();
    const taskTools = createTaskTools(wire, deps.clock, profile.capabilities, spec.startTimeoutMs);
    const fingerprint = fingerprintOf(declared);
    const speaker = new LegacySpeaker({ wire, spec, profile, fingerprint, listTtlMs, asked, taskTools });
    connection = raised(spec, wire, speaker, '');
    await taskTools.load();
    return connection;
  }

  function modernConnection(spec: ServerSpec, wire: Wire, profile: Profile): Connection {
    const { clientInfo, clock } = deps;
    const contradicted = (words: string) => deps.contradicted(spec, words);
    const asks = deps.questions !== undefined;
    const refresh = spec.http === undefined ? {} : { refreshTools: createRefreshTools(() => connection.side) };
    const speaker = new ModernSpeaker({ wire, spec, profile, clientInfo, asks, clock, contradicted, ...refresh });
    const connection = raised(spec, wire, speaker, sideMeta(profile.revision, clientInfo));
    return connection;
  }

  function raised(
    spec: ServerSpec,
    wire: Wire,
    speaker: LegacySpeaker | ModernSpeaker,
    meta: string,
  ): RaisedConnection {
    const { log } = deps;
    const side = new SideOfWire(wire, deps.clock, meta);
    const maxResultBytes = () => deps.limits().maxResultBytes;
    return new RaisedConnection({
      wire,
      speaker,
      side,
      log,
      clock: deps.clock,
      maxResultBytes,
      changed: (c) => deps.changed(spec, c),
    });
  }

  return {
    legacy: (spec, capabilities, evidence, signal, transport = 'streamable', place) => {
      const work = async (wire: Wire) => {
        const { clock, clientInfo } = deps;
        // While it introduces itself it may ask already; nothing is running, so everything but ping is refused.
        const asked = createAsked({ wire, declared: {}, questions: undefined, connection: () => null });
        const room = { open: 0, asker: () => null };
        wire.listener = {
          notification: () => {},
          request: (line, id, method, params) => asked.request(line, id, method, params, room),
        };
        const deadlineMs = spec.startTimeoutMs;
        const said = await introduce(wire, { capabilities, clientInfo, deadlineMs, evidence, clock });
        // Where there is no stream of 2024-11-05 any more there may be a younger transport.
        const moved = said.kind === 'failed' && spec.http !== undefined && transport === 'sse';
        if (said.kind === 'refused' || moved) throw new Contradiction(said.words, wire.stderrTail());
        if (said.kind === 'failed') throw new StartError(said.words, wire.stderrTail(), said.denied);
        const profile = spec.http === undefined ? said.profile : { ...said.profile, transport };
        return legacyConnection(spec, wire, profile, capabilities);
      };
      return onProcess(spec, transport, signal, work, place);
    },

    modern: (spec, signal) =>
      onProcess(spec, 'modern', signal, async (wire) => {
        const { clock, clientInfo } = deps;
        const finding = await discover(wire, { clientInfo, deadlineMs: spec.startTimeoutMs, clock });
        if (finding.kind === 'modern') return modernConnection(spec, wire, finding.profile);
        // Over HTTP silence says nothing of the era (protocol.md §4.2 "Not evidence").
        if (finding.kind === 'legacy' && finding.weak && spec.http !== undefined)
          throw new StartError(`${finding.evidence} within ${spec.startTimeoutMs} ms`, '');
        if (finding.kind === 'legacy')
          throw new Contradiction(`it is not modern: ${finding.evidence}`, wire.stderrTail());
        if (finding.kind === 'failed') throw new StartError(finding.exit.words, wire.stderrTail(), finding.denied);
        throw new StartError(finding.words, wire.stderrTail());
      }),

    probe: (spec, deadlineMs, signal, place) => {
      const work = async (wire: Wire) => {
        const { clock, clientInfo } = deps;
        const finding = await discover(wire, { clientInfo, deadlineMs, clock });
        const stderrTail = wire.stderrTail();
        if (finding.kind === 'modern') {
          return { finding, connection: modernConnection(spec, wire, finding.profile), stderrTail };
        }
        end(wire, 'it was a probe');
        return { finding, connection: null, stderrTail };
      };
      return onProcess(spec, 'modern', signal, work, place);
    },

    async close() {
      await Promise.all(endings);
    },
  };
}

/** What the node asks for itself declares nothing: no question may come of it. */
function sideMeta(revision: string, clientInfo: Implementation): string {
  return `"${PROTOCOL_VERSION}":"${revision}","${CLIENT_INFO}":${JSON.stringify(clientInfo)},"${CLIENT_CAPABILITIES}":{}`;
}
