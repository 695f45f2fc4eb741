// Looks at the services once a second while the crowd is there: memory, processes, the oldest waiter. The slope of memory
// is that of what is left after collections: the least of each window, since everything above it is garbage not yet
// collected. Nothing is forced.

import { setTimeout as pause } from 'node:timers/promises';
import { memoryMb } from '../harness/process-tree.ts';
import { number, readMetrics } from './metrics.ts';
import type { Service, Stage } from './stage.ts';

interface Sample {
  readonly atMs: number;
  readonly rssMb: number;
  /** V8's heap and the buffers beside it. */
  readonly heldMb: number;
}

export interface Slope {
  readonly service: string;
  readonly heldMbPerMinute: number;
  readonly rssMbPerMinute: number;
  readonly heldMb: number;
  readonly rssMb: number;
}

export interface Watched {
  readonly slopes: readonly Slope[];
  readonly mostProcesses: number;
  readonly oldestWaiterSeconds: number;
}

const WINDOWS = 8;

export interface Watch {
  stop(): Promise<Watched>;
}

export function watch(stage: Stage, warmUpMs: number): Watch {
  const startedAt = performance.now();
  const samples = new Map<string, Sample[]>();
  let mostProcesses = 0;
  let oldestWaiterSeconds = 0;
  let over = false;

  async function look(service: Service): Promise<void> {
    const metrics = await readMetrics(service);
    const children = ['starting', 'idle', 'busy', 'draining'].map((state) =>
      number(metrics, 'lockkeeper_pool_children', `state="${state}"`),
    );
    mostProcesses = Math.max(
      mostProcesses,
      children.reduce((sum, n) => sum + n, 0),
    );
    oldestWaiterSeconds = Math.max(
      oldestWaiterSeconds,
      number(metrics, 'lockkeeper_pool_oldest_waiter_seconds', '', Math.max),
    );
    const atMs = performance.now() - startedAt;
    if (atMs < warmUpMs) return;
    const heap = number(metrics, 'lockkeeper_nodejs_heap_size_used_bytes');
    const beside = number(metrics, 'lockkeeper_nodejs_external_memory_bytes');
    const sample = { atMs, rssMb: memoryMb(service.pid).now, heldMb: (heap + beside) / 1_048_576 };
    samples.set(service.name, [...(samples.get(service.name) ?? []), sample]);
  }

  const looking = (async () => {
    while (!over) {
      await Promise.all([...stage.gateways, ...stage.nodes].map((service) => look(service).catch(() => {})));
      await pause(1_000);
    }
  })();
  return {
    async stop() {
      over = true;
      await looking;
      return {
        mostProcesses,
        oldestWaiterSeconds,
        slopes: [...samples].map(([name, list]) => slopeOf(name, list)),
      };
    },
  };
}

function slopeOf(service: string, samples: readonly Sample[]): Slope {
  const size = Math.max(1, Math.floor(samples.length / WINDOWS));
  const lows: Sample[] = [];
  for (let i = 0; i + size <= samples.length; i += size) {
    const window = samples.slice(i, i + size);
    lows.push(window.reduce((low, one) => (one.heldMb < low.heldMb ? one : low)));
  }
  const last = samples.at(-1)!;
  return {
    service,
    heldMbPerMinute: perMinute(lows, ({ heldMb }) => heldMb),
    rssMbPerMinute: perMinute(samples, ({ rssMb }) => rssMb),
    heldMb: lows.at(-1)!.heldMb,
    rssMb: last.rssMb,
  };
}

/** Least squares. */
function perMinute(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const [time, level] = [mean(({ atMs }) => atMs), mean(value)];
  const over = samples.reduce((sum, one) => sum + (one.atMs - time) * (value(one) - level), 0);
  const under = samples.reduce((sum, one) => sum + (one.atMs - time) ** 2, 0);
  return under === 0 ? 0 : (over / under) * 60_000;
}
