// Pools on a clock of our own, over connections that do what a test says.

import type { Limits, ServerSpec } from '@lockkeeper/protocol/config/settings';
import { ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason } from '../../src/child/contract.ts';
import type { PoolLease } from '../../src/lease/lease.ts';
import type { NodePools } from '../../src/pool/contract.ts';
import { createPools } from '../../src/pool/pools.ts';
import { type Connection, StartError } from '../../src/raise/contract.ts';

export class ManualClock implements Clock {
  time = 1_000_000;
  private readonly timers = new Set<{ readonly at: number; readonly run: () => void }>();

  now(): number {
    return this.time;
  }

  setTimer(ms: number, run: () => void) {
    const timer = { at: this.time + ms, run };
    this.timers.add(timer);
    return { clear: () => void this.timers.delete(timer) };
  }

  get pending(): number {
    return this.timers.size;
  }

  /** Fires what is due, in order, letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const next = [...this.timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.timers.delete(next);
      this.time = next.at;
      next.run();
      await settled();
    }
    this.time = end;
    await settled();
  }
}

export const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

export class FakeConnection implements Connection {
  readonly profile: Connection['profile'];
  readonly number: number;
  readonly spec: ServerSpec;
  readonly fingerprint: string;
  readonly capabilities: ClientCapabilities;
  readonly closed: Promise<ExitReason>;
  open = 0;
  uses = 0;
  tainted = false;
  gone = false;
  readonly pid: number;
  stopped: string | null = null;
  /** Without time for goodbyes. */
  hurried = false;
  /** Held back: the process takes its time to end. */
  holdStop: Promise<void> | null = null;
  private readonly exit = Promise.withResolvers<ExitReason>();

  constructor(number: number, spec: ServerSpec, capabilities: ClientCapabilities, spoken: Stage['profile']) {
    this.number = number;
    this.pid = 1000 + number;
    this.spec = spec;
    this.capabilities = capabilities;
    this.fingerprint = fingerprintOf(capabilities);
    this.closed = this.exit.promise;
    this.profile = {
      ...spoken,
      supported: [],
      capabilities: {},
      foundAt: 0,
      evidence: 'test',
    };
  }

  call() {
    return { cancel: () => {} };
  }

  crash(words = 'exited with code 3'): void {
    this.exit.resolve({ kind: 'exited', code: 3, signal: null, words });
  }

  async stop(why: string, how?: 'now'): Promise<void> {
    this.stopped ??= why;
    this.hurried ||= how === 'now';
    await this.holdStop;
    this.exit.resolve({ kind: 'stopped', code: 0, signal: null, words: why });
  }
}

export interface Stage {
  readonly clock: ManualClock;
  readonly pools: NodePools;
  /** Every connection ever made. */
  readonly made: FakeConnection[];
  /** Starts that wait for `go`, when `manual` is on. */
  readonly pending: {
    readonly spec: ServerSpec;
    succeed(): void;
    fail(words: string): void;
    fault(error: Error): void;
    readonly signal: AbortSignal;
  }[];
  readonly warnings: { fields: Record<string, unknown>; words: string }[];
  starts: number;
  manual: boolean;
  /** Words of the failure of every start from now on; null: they succeed. */
  failing: string | null;
  alive(): FakeConnection[];
  /** What each child uses, by the number of its connection. */
  /** What the next ones say they are. */
  profile: { readonly era: 'legacy' | 'modern'; readonly revision: string };
  /** Servers whose era is to be asked again. */
  readonly doubts: string[];
  readonly uses: Map<number, { mb?: number; exactMb?: number; cpuMs?: number }>;
}

export const LIMITS = { maxPerServer: 64, maxPerTenant: 64, maxPerNode: 256, maxQueue: 100, sessionIdleMs: 1_800_000 };
type StageLimits = Pick<Limits, keyof typeof LIMITS>;

export function stage(limits: Partial<StageLimits> = {}): Stage {
  const clock = new ManualClock();
  const made: FakeConnection[] = [];
  const pending: Stage['pending'] = [];
  const warnings: Stage['warnings'] = [];
  const uses: Stage['uses'] = new Map();
  const it: Stage = {
    clock,
    made,
    pending,
    warnings,
    uses,
    doubts: [],
    profile: { era: 'legacy', revision: '2025-11-25' },
    starts: 0,
    manual: false,
    failing: null,
    alive: () => made.filter((c) => c.stopped === null && !crashed.has(c)),
    pools: createPools({
      clock,
      log: { debug() {}, info() {}, warn: (fields, words) => void warnings.push({ fields: { ...fields }, words }) },
      limits: () => ({ ...LIMITS, ...limits }),
      usage: {
        read: async (leaders) => new Map([...leaders].map((pid) => [pid, usageOf(pid, uses.get(pid - 1000))])),
        exactBytes: async ([pid]) => {
          const { exactMb, mb } = uses.get(pid! - 1000) ?? {};
          return (exactMb ?? mb ?? 0) * MIB;
        },
      },
      name: 'n',
      connector: {
        doubt: (spec) => void it.doubts.push(spec.name),
        connect: (spec, capabilities, signal) => {
          it.starts++;
          const make = () => {
            const connection = new FakeConnection(made.length, spec, capabilities, it.profile);
            made.push(connection);
            void connection.closed.then(() => crashed.add(connection));
            return connection;
          };
          if (it.manual) {
            return new Promise((resolve, reject) => {
              pending.push({
                spec,
                signal,
                succeed: () => resolve(make()),
                fault: reject,
                fail: (words) => reject(new StartError(words, 'tail')),
              });
            });
          }
          if (it.failing !== null) return Promise.reject(new StartError(it.failing, 'tail'));
          return Promise.resolve(make());
        },
      },
    }),
  };
  const crashed = new Set<FakeConnection>();
  return it;
}

const MIB = 1024 * 1024;

function usageOf(pid: number, { mb = 0, cpuMs = 0 }: { mb?: number; cpuMs?: number } = {}) {
  return { memoryBytes: mb * MIB, cpuMs, processes: [pid] };
}

export interface Who {
  readonly spec: ServerSpec;
  readonly subject?: string;
  readonly client?: string;
  readonly session?: string | null;
  readonly capabilities?: ClientCapabilities;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Instead of what follows from the rest. */
  readonly alone?: boolean;
}

export const ASKS: ClientCapabilities = { elicitation: { form: {} } };

export function ownerOf(who: Who): string {
  const { spec, subject = 'alice', client = 'app', session = null } = who;
  const principal = { tenant: spec.tenant, issuer: 'https://idp', subject, client };
  const { isolation, name: server, digest } = spec;
  return ownerKey({ server, digest, isolation, principal, session, mayAsk: isolation !== 'shared' });
}

export function lease(on: Stage, who: Who): Promise<PoolLease> {
  const { spec, subject = 'alice', client = 'app', capabilities = {}, waitMs = 30_000 } = who;
  const owner = ownerOf(who);
  const fingerprint = fingerprintOf(capabilities);
  const result = on.pools.lease({
    spec,
    owner,
    key: poolKey(owner, fingerprint),
    principal: { tenant: spec.tenant, issuer: 'https://idp', subject, client },
    capabilities,
    fingerprint,
    alone: who.alone ?? (spec.isolation === 'exclusive' || fingerprint !== ''),
    waitMs,
    signal: who.signal ?? new AbortController().signal,
  });
  // A test that looks at it later must not die of it now.
  result.catch(() => {});
  return result;
}

/** Undefined while it waits. */
export async function now<T>(promise: Promise<T>): Promise<T | undefined> {
  await settled();
  return Promise.race([promise, Promise.resolve(undefined)]);
}

export function server(
  more: Partial<Omit<ServerSpec, 'pool'>> & { pool?: Partial<ServerSpec['pool']> } = {},
): ServerSpec {
  const { pool, ...rest } = more;
  return {
    name: 's',
    tenant: 'acme',
    stdio: { command: 'x', args: [], env: {}, cwd: '/' },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    era: 'auto',
    startTimeoutMs: 30_000,
    callTimeoutMs: 60_000,
    digest: `d-${more.tenant ?? 'acme'}-${more.name ?? 's'}`,
    pool: { max: 8, minWarm: 0, idleMs: 300_000, maxAgeMs: 86_400_000, maxUses: 1_000_000, ...pool },
    ...rest,
  };
}

export const numberOf = (l: PoolLease | undefined) => (l?.connection as FakeConnection | undefined)?.number;
