// Memory and processor time of every child, read by one timer for all of them. A child over its memory cap is replaced
// when it is free, one over the hard cap is ended in the middle of its calls, before the machine ends somebody else; or in
// the middle of its start.

import { memoryCapsOf } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { PooledChild } from '../pooled-child.ts';
import type { Unlent, Usage, UsageReader } from './contract.ts';
import { judgeMemory, SPIN_MS, spinsSince } from './judge.ts';

export interface MeterDeps {
  readonly reader: UsageReader;
  readonly clock: Clock;
  readonly everyMs: number;
  children(): Iterable<PooledChild>;
  /** Every process of this node; those of `children` may be among them. */
  running?(): Iterable<Unlent>;
  /** One that no pool lends was ended. */
  endedUnlent(unlent: Unlent, words: string): void;
  /** No new work for it. */
  replace(child: PooledChild, words: string): void;
  end(child: PooledChild, words: string): void;
  spins(child: PooledChild): void;
  failed(error: unknown): void;
}

export interface Meter {
  /** One round; for tests. */
  measure(): Promise<void>;
  close(): void;
}

/** What is known of one child, kept at the child and gone with it. */
export interface Gauge {
  readonly at: number;
  readonly memoryBytes: number;
  readonly cpuMs: number;
  readonly processes: number;
  /** Of one processor, since the round before. */
  readonly cpuShare: number;
  readonly spinsSince: number | null;
  readonly spins: boolean;
}

export function createMeter(deps: MeterDeps): Meter {
  const { clock, reader } = deps;
  let closed = false;
  let timer: Timer = clock.setTimer(deps.everyMs, run);

  function run(): void {
    // Armed again only when its work is done: a slow machine is not asked twice at once.
    void measure()
      .catch(deps.failed)
      .finally(() => {
        if (!closed) timer = clock.setTimer(deps.everyMs, run);
      });
  }

  async function measure(): Promise<void> {
    const children = new Map<number, PooledChild>();
    for (const child of deps.children()) if (child.live && child.pid !== null) children.set(child.pid, child);
    const unlent = new Map<number, Unlent>();
    for (const one of deps.running?.() ?? []) if (!children.has(one.pid)) unlent.set(one.pid, one);
    if (children.size + unlent.size === 0) return;
    const usages = await reader.read(new Set([...children.keys(), ...unlent.keys()]));
    const at = clock.now();
    for (const [pid, usage] of usages) {
      const other = unlent.get(pid);
      if (other !== undefined && !closed) await judgeUnlent(other, usage);
      const child = children.get(pid);
      if (closed || child?.live !== true) continue;
      note(child, usage, at);
      await judge(child, usage);
    }
  }

  function note(child: PooledChild, usage: Usage, at: number): void {
    const before = child.gauge;
    const passed = at - (before?.at ?? child.startedAt);
    // Offspring that ended took its time along, so a sum may shrink.
    const spent = Math.max(0, usage.cpuMs - (before?.cpuMs ?? 0));
    const cpuShare = passed > 0 ? spent / passed : 0;
    const since = spinsSince(before?.spinsSince ?? null, cpuShare, child.state === 'idle', before?.at ?? at);
    const spins = since !== null && at - since >= SPIN_MS;
    const { memoryBytes, cpuMs, processes } = usage;
    child.gauge = { at, memoryBytes, cpuMs, processes: processes.length, cpuShare, spinsSince: since, spins };
    if (spins && before?.spins !== true) deps.spins(child);
  }

  async function judge(child: PooledChild, usage: Usage): Promise<void> {
    const { pool, isolation } = child.spec;
    const caps = memoryCapsOf(pool);
    if (judgeMemory(usage.memoryBytes, caps, isolation) === 'fine') return;
    const bytes = (await reader.exactBytes(usage.processes)) ?? usage.memoryBytes;
    if (closed || !child.live) return;
    const verdict = judgeMemory(bytes, caps, isolation);
    if (verdict === 'end') {
      deps.end(child, overHard(caps.hard));
    } else if (verdict === 'replace' && child.retiring === null) {
      deps.replace(child, `it used more than ${caps.soft} MB of memory (pool.maxMemoryMb)`);
    }
  }

  /** There is nothing to replace yet, so only the hard cap counts. */
  async function judgeUnlent(unlent: Unlent, usage: Usage): Promise<void> {
    const { pool, isolation } = unlent.spec;
    const caps = memoryCapsOf(pool);
    if (judgeMemory(usage.memoryBytes, caps, isolation) !== 'end') return;
    const bytes = (await reader.exactBytes(usage.processes)) ?? usage.memoryBytes;
    if (closed || judgeMemory(bytes, caps, isolation) !== 'end') return;
    const words = overHard(caps.hard);
    unlent.end(words);
    deps.endedUnlent(unlent, words);
  }

  return {
    measure,
    close() {
      closed = true;
      timer.clear();
    },
  };
}

function overHard(mb: number): string {
  return `used more than ${mb} MB of memory and was ended`;
}
