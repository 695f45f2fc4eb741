// What is done with a pooled child that takes too much (what that is: meter.ts): replaced when it is free, or ended now.

import type { PoolsDeps } from '../contract.ts';
import type { Lives } from '../life/lives.ts';
import type { PooledChild } from '../pooled-child.ts';
import type { Registry } from '../registry.ts';
import { createMeter, type Meter } from './meter.ts';

export interface Metered {
  readonly registry: Registry;
  readonly lives: Pick<Lives, 'punish'>;
}

/** Null: nobody looks. */
export function createPoolMeter(
  { usage, clock, log, running, meterMs }: PoolsDeps,
  { registry, lives }: Metered,
): Meter | null {
  if (usage === undefined) return null;
  const from = (child: PooledChild) => registry.poolOf(child);
  return createMeter({
    ...{ reader: usage, clock, everyMs: meterMs ?? 2_000 },
    children: () => registry.children(),
    ...(running === undefined ? {} : { running }),
    endedUnlent: ({ spec: { name, tenant } }, words) =>
      log.warn({ server: name, tenant, why: words }, 'a child that serves nobody was ended'),
    replace: (child, words) => from(child)?.retireChild(child, { reason: 'memory', words }),
    end: (child, words) => {
      const pool = from(child);
      if (pool !== undefined) lives.punish(pool, child, { reason: 'memory', words });
    },
    spins: ({ spec: { name, tenant }, pid }) =>
      log.warn({ server: name, tenant, pid }, 'an idle child takes a whole processor'),
    failed: (error) => log.warn({ err: error }, 'what children use could not be read'),
  });
}
