// Memory and processor time of every child, read by one timer for all of them. A child over its memory cap is replaced
// when it is free, one over the hard cap is ended in the middle of its calls, before the machine ends somebody else.

import { memoryCapsOf } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { PooledChild } from '../pooled-child.ts';
import type { Usage, UsageReader } from './contract.ts';
import { judgeMemory, SPIN_MS, spinsSince } from './judge.ts';

export interface MeterDeps {
  readonly reader: UsageReader;
  readonly clock: Clock;
  readonly everyMs: number;
  children(): Iterable<PooledChild>;
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
    if (children.size === 0) return;
    const usages = await reader.read(new Set(children.keys()));
    const at = clock.now();
    for (const [pid, usage] of usages) {
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
      deps.end(child, `used more than ${caps.hard} MB of memory and was ended`);
    } else if (verdict === 'replace' && child.retiring === null) {
      deps.replace(child, `it used more than ${caps.soft} MB of memory (pool.maxMemoryMb)`);
    }
  }

  return {
    measure,
    close() {
      closed = true;
      timer.clear();
    },
  };
}
