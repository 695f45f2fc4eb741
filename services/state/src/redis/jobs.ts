// Jobs on Redis by BullMQ. Which job stands for (name, id) is a key of ours that holds its job id: a newer schedule
// replaces it, a cancel deletes it, and a worker runs only the job that still stands there. BullMQ's own custom ids
// cannot say this, since a running job would swallow the new one. BullMQ's bookkeeping keys have no TTL; finished
// jobs are removed at once, failed ones kept in small number for the operator.

import { randomUUID } from 'node:crypto';
import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import { JOB_ATTEMPTS, JOB_BACKOFF_MS, type Jobs } from '../jobs.ts';
import { keyOf } from '../store.ts';
import { createConnection } from './connection.ts';
import { COMPARE_AND_DELETE } from './scripts/compare-and-delete.ts';
import { runScript } from './scripts/script.ts';

export interface RedisJobsDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly warn: (words: string) => void;
  readonly backoffMs?: number;
}

/** The hash tag keeps all of BullMQ's keys in one Cluster slot. */
const PREFIX = 'lk:{jobs}';
/** A job that no worker takes within this time after it was due is forgotten. */
const STALE_MS = 7 * 24 * 3600 * 1000;
const KEEP_FAILED = 100;
const CLOSE_MS = 5000;

export function createRedisJobs(deps: RedisJobsDeps): Jobs {
  const { url, clock, warn, backoffMs = JOB_BACKOFF_MS } = deps;
  const connection = createConnection({ url, name: 'jobs', clock, warn });
  const queues = new Map<string, Promise<Queue>>();
  const workers = new Map<string, Worker>();
  let workerClient: Redis | null = null;

  const standing = (name: string, id: string): string => keyOf('jobs', 'standing', name, id);

  /** Opened by its first use, and again by the next one if Redis was away. */
  function queueOf(name: string): Promise<Queue> {
    const open = queues.get(name);
    if (open !== undefined) return open;
    const opening = connection
      .run(async (client) => {
        const queue = new Queue(encodeURIComponent(name), { connection: client, prefix: PREFIX });
        queue.on('error', () => undefined);
        await queue.waitUntilReady();
        return queue;
      })
      .catch((error: unknown) => {
        queues.delete(name);
        throw error;
      });
    queues.set(name, opening);
    return opening;
  }

  async function run(job: Job, name: string, handler: (payload: unknown) => Promise<void>): Promise<void> {
    const { id, payload } = job.data as { id: string; payload: unknown };
    const key = standing(name, id);
    if ((await connection.run((client) => client.get(key))) !== job.id) return;
    const done = (): Promise<unknown> =>
      connection.run((client) => runScript(client, COMPARE_AND_DELETE, key, job.id ?? ''));
    try {
      await handler(payload);
    } catch (error) {
      const last = job.attemptsMade + 1 >= JOB_ATTEMPTS;
      warn(`job ${name} failed${last ? ' for the last time' : ''}: ${error instanceof Error ? error.name : 'unknown'}`);
      if (last) await done();
      throw error;
    }
    await done();
  }

  return {
    async schedule(name, id, payload, delayMs) {
      const queue = await queueOf(name);
      const jobId = randomUUID();
      const key = standing(name, id);
      // Before the job itself, or a worker might meet a job that does not stand yet and drop it.
      const earlier = await connection.run((client) =>
        client.set(key, jobId, 'PX', Math.ceil(delayMs) + STALE_MS, 'GET'),
      );
      await connection.run(() =>
        queue.add(
          name,
          { id, payload },
          {
            jobId,
            delay: Math.max(0, Math.ceil(delayMs)),
            attempts: JOB_ATTEMPTS,
            backoff: { type: 'exponential', delay: backoffMs },
            removeOnComplete: true,
            removeOnFail: KEEP_FAILED,
          },
        ),
      );
      // Tidiness only: it would not run. One that is running cannot be removed.
      if (earlier !== null) await queue.remove(earlier).catch(() => 0);
    },
    async cancel(name, id) {
      const queue = await queueOf(name);
      const jobId = await connection.run((client) => client.getdel(standing(name, id)));
      if (jobId !== null) await queue.remove(jobId).catch(() => 0);
    },
    async handle(name, concurrency, handler) {
      if (workers.has(name)) throw new Error(`job ${name} has a handler already`);
      workerClient ??= openWorkerClient(url);
      const worker = new Worker(encodeURIComponent(name), (job) => run(job, name, handler), {
        connection: workerClient,
        prefix: PREFIX,
        concurrency,
      });
      // Outages are told once by the connection above; workers wait them out.
      worker.on('error', () => undefined);
      workers.set(name, worker);
    },
    async close() {
      // With Redis away there is nobody to say goodbye to, and a goodbye would wait for its return.
      const away = workerClient !== null && workerClient.status !== 'ready';
      await Promise.all([...workers.values()].map((worker) => closeWorker(worker, away, clock)));
      for (const queue of await Promise.allSettled(queues.values())) {
        if (queue.status === 'fulfilled') await queue.value.close().catch(() => undefined);
      }
      workerClient?.disconnect();
      await connection.close();
    },
  };
}

/** Waits out an outage, unlike the connection of requests; connects at once, since BullMQ gives up a first failure. */
function openWorkerClient(url: string): Redis {
  const client = new Redis(url, {
    connectionName: 'lockkeeper-workers',
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2000),
  });
  client.on('error', () => undefined);
  return client;
}

/** Lets running handlers end; a Redis that is away or hangs does not hold up the end of the process. */
async function closeWorker(worker: Worker, away: boolean, clock: Clock): Promise<void> {
  let timer = { clear: (): void => undefined };
  const late = new Promise<'late'>((resolve) => {
    timer = clock.setTimer(CLOSE_MS, () => resolve('late')) as typeof timer;
  });
  const ended = worker.close(away).then(
    () => 'ended' as const,
    () => 'ended' as const,
  );
  // A second close would be the first one's promise; cut, and leave it.
  if ((await Promise.race([ended, late])) === 'late') cut(worker);
  timer.clear();
}

/** BullMQ renews its locks by a timer that only an ended close stops; it would keep the process alive. */
function cut(worker: Worker): void {
  const { lockManager } = worker as unknown as { readonly lockManager?: { close(): Promise<void> } };
  lockManager?.close().catch(() => undefined);
  worker.disconnect().catch(() => undefined);
}
