// Which keys of a Redis would stay for ever. The queues' own bookkeeping (BullMQ: `meta`, its id counter, its streams of
// events and sorted sets of jobs) has no TTL by its library's design; it is bounded by the number of queues and jobs.

import { Redis } from 'ioredis';

/** What BullMQ keeps of each queue, whatever was queued. */
const BOOKKEEPING =
  /^lk:\{jobs\}:[a-z-]+:(meta|id|events|marker|stalled-check|stalled|completed|failed|delayed|wait|active|prioritized|limiter|pc|repeat)$/;

export interface Lasting {
  readonly ours: readonly string[];
  readonly bookkeeping: readonly string[];
  readonly all: number;
}

export async function lasting(url: string): Promise<Lasting> {
  const redis = new Redis(url);
  try {
    const keys: string[] = [];
    for await (const batch of redis.scanStream({ count: 1000 })) keys.push(...(batch as string[]));
    const ttls = await Promise.all(keys.map(async (key) => [key, await redis.pttl(key)] as const));
    const without = ttls.filter(([, ttl]) => ttl === -1).map(([key]) => key);
    const bookkeeping = without.filter((key) => BOOKKEEPING.test(key));
    return { ours: without.filter((key) => !bookkeeping.includes(key)), bookkeeping, all: keys.length };
  } finally {
    redis.disconnect();
  }
}
