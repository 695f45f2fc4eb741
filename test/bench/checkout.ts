// What the pool itself takes of a call: lease and give back on warm pools, over connections that do nothing, so that what
// is measured is the queue, the choice and the books.

import { lease, server, stage, type Who } from '../../services/pool-manager/test/pool/stage.ts';
import { median } from './table.ts';

export interface Checkout {
  readonly name: string;
  readonly microseconds: number;
}

const ROUNDS = 7;

async function microseconds(times: number, one: (i: number) => Promise<void>): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    for (let i = 0; i < times; i += 1) await one(i);
    rounds.push(((performance.now() - startedAt) * 1_000) / times);
  }
  // The first ones are the compiler's.
  return median(rounds.slice(2));
}

async function checkout(name: string, times: number, people: number, who: Partial<Who>): Promise<Checkout> {
  const on = stage({ maxPerServer: 10_000, maxPerTenant: 10_000, maxPerNode: 10_000 });
  const spec = server({ isolation: 'user', ...who.spec });
  const borrow = async (i: number): Promise<void> => {
    (await lease(on, { ...who, spec, subject: `p${i % people}` })).release();
  };
  for (let i = 0; i < people; i += 1) await borrow(i);
  const result = { name, microseconds: await microseconds(times, borrow) };
  await on.pools.close(0);
  return result;
}

export async function measureCheckout(times: number): Promise<Checkout[]> {
  const shared = server({ isolation: 'shared' });
  const again = server({ isolation: 'exclusive', keepsNothing: true });
  return [
    await checkout('shared, one process', times, 1, { spec: shared }),
    await checkout('user, one person', times, 1, {}),
    await checkout('user, 1,000 people with a process each', times, 1_000, {}),
    await checkout('exclusive, lent again', times, 1, { spec: again }),
  ];
}
