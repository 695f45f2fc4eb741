// Pools and a connector together on a clock of our own, over scripted servers: what finds out eras and what serves calls
// share one count of places.

import type { Limits, ServerSpec } from '@lockkeeper/protocol/config/settings';
import { ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { fingerprintOf } from '@lockkeeper/protocol/mcp/fingerprint';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { PoolLease } from '../../src/lease/lease.ts';
import type { NodePools } from '../../src/pool/contract.ts';
import { createPools } from '../../src/pool/pools.ts';
import type { Connector } from '../../src/raise/contract.ts';
import { connectorOf, FakeChild, notedLog, type Script } from '../raise/fake.ts';
import { LIMITS, ManualClock } from './stage.ts';

/** Takes its time to end, or has the test end it. */
class SlowChild extends FakeChild {
  stopping = false;
  private readonly endMs: number;
  private readonly clock: ManualClock;
  private readonly over = Promise.withResolvers<void>();

  constructor(clock: ManualClock, endMs: number, ...rest: ConstructorParameters<typeof FakeChild>) {
    super(...rest);
    this.clock = clock;
    this.endMs = endMs;
  }

  override stop(): Promise<void> {
    if (!this.stopping && this.exited === null) {
      this.stopping = true;
      this.clock.setTimer(this.endMs, () => this.exit('stopped', 'stopped'));
    }
    return this.over.promise;
  }

  override exit(...how: Parameters<FakeChild['exit']>): void {
    super.exit(...how);
    this.over.resolve();
  }
}

const STEP_MS = 20;

export interface FindingStage {
  readonly clock: ManualClock;
  readonly pools: NodePools;
  readonly connector: Connector;
  /** Every process ever started, with its server's name. */
  readonly started: { readonly name: string; readonly child: SlowChild }[];
  living(): number;
  /** Lets time go by in small steps: what one timer begins may set the next. */
  pass(ms: number): Promise<void>;
  /** All ends, and nothing is left of it. */
  end(): Promise<void>;
  /** Most that lived at once. */
  peak: number;
  /** The whole way of a call: what its server is, then a process. */
  call(
    spec: ServerSpec,
    more?: { waitMs?: number; signal?: AbortSignal; capabilities?: ClientCapabilities },
  ): Promise<PoolLease>;
}

export interface FindingWishes {
  readonly limits?: Partial<Pick<Limits, keyof typeof LIMITS>>;
  readonly script: Script;
  /** What each process needs to end. */
  readonly endMs?: number;
}

export function findingStage({ limits, script, endMs = 0 }: FindingWishes): FindingStage {
  const clock = new ManualClock();
  const started: FindingStage['started'] = [];
  const living = () => started.filter(({ child }) => child.exited === null).length;
  const store = createMemoryStore({ clock, warn: () => {} });
  const connector = connectorOf({
    ...{ clock, store },
    questions: { ask: () => {}, withdraw: () => {} },
    places: () => it.pools.places,
    spawn: (spec, events) => {
      const child = new SlowChild(clock, endMs, events, script);
      started.push({ name: spec.name, child });
      it.peak = Math.max(it.peak, living());
      return child;
    },
    timings: { probeMs: 5_000, spareMs: 10_000 },
  });
  const it: FindingStage = {
    ...{ clock, connector, started, living, peak: 0 },
    async pass(ms) {
      for (let gone = 0; gone < ms; gone += STEP_MS) await clock.advance(STEP_MS);
    },
    async end() {
      const ending = it.pools.close(0).then(() => connector.close());
      await it.pass(20_000);
      await ending;
      await store.close();
    },
    pools: createPools({ connector, clock, log: notedLog(), limits: () => ({ ...LIMITS, ...limits }) }),
    async call(spec, { waitMs = 30_000, signal = new AbortController().signal, capabilities = {} } = {}) {
      const principal = { tenant: spec.tenant, issuer: 'https://idp', subject: 'alice', client: 'app' };
      const { isolation, name: server, digest } = spec;
      await connector.profile(spec, signal, waitMs);
      const owner = ownerKey({ server, digest, isolation, principal, session: null, mayAsk: true });
      const fingerprint = fingerprintOf(capabilities);
      const key = poolKey(owner, fingerprint);
      const alone = fingerprint !== '';
      return it.pools.lease({ spec, owner, key, principal, capabilities, fingerprint, alone, waitMs, signal });
    },
  };
  return it;
}
