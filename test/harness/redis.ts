// A Redis for tests (design §10): the one in REDIS_URL, else a container of an image that is here already, else a local
// redis-server, else a container whose image must be fetched, else a sentence that says what to install. Tests share
// it with others: they write below a tenant of their own and never flush.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { dockerAnswers, localImage } from './docker.ts';
import { within } from './eventually.ts';
import { freePort } from './ports.ts';

export interface StartedRedis {
  readonly url: string;
  stop(): Promise<void>;
}

const IMAGES = ['redis:8-alpine', 'redis:8', 'redis:7-alpine', 'redis:7', 'valkey/valkey:8'];
const READY_MS = 10_000;
const ATTEMPTS = 5;
const NOTHING =
  'No Redis for the tests: set REDIS_URL, or start Docker, or install redis-server 7 or later (apt-get install redis-server).';

export async function startRedis(): Promise<StartedRedis> {
  const given = process.env.REDIS_URL;
  if (given) return { url: given, stop: async () => undefined };
  const docker = await dockerAnswers();
  const image = docker ? await localImage(IMAGES) : null;
  if (image !== null) return startContainer(image);
  const local = await startLocal();
  if (local !== null) return local;
  if (docker) return startContainer('redis:8-alpine');
  throw new Error(NOTHING);
}

/** One of its own, empty and never shared: for tests that take it away. */
export async function startEmptyRedis(): Promise<StartedRedis> {
  const local = await startLocal();
  if (local !== null) return local;
  if (await dockerAnswers()) return startContainer('redis:8-alpine');
  throw new Error(NOTHING);
}

async function startContainer(image: string): Promise<StartedRedis> {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(image).withExposedPorts(6379).start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    stop: async () => {
      await container.stop();
    },
  };
}

/** Null where no redis-server is installed. A port that was taken in between is tried anew with another. */
async function startLocal(): Promise<StartedRedis | null> {
  let last: unknown;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return await startServer(await freePort());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      last = error;
    }
  }
  throw new Error('redis-server did not start', { cause: last });
}

async function startServer(port: number): Promise<StartedRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'lockkeeper-redis-'));
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'ignore'] });
  const endWithUs = (): void => {
    server.kill('SIGKILL');
  };
  process.once('exit', endWithUs);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', endWithUs);
    if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      server.kill('SIGTERM');
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await within(readyToAccept(server), READY_MS, 'redis-server');
  } catch (error) {
    await stop();
    throw error;
  }
  server.stdout.resume();
  return { url: `redis://127.0.0.1:${port}`, stop };
}

async function readyToAccept(server: ChildProcess): Promise<void> {
  const failed = once(server, 'error').then(([error]) => {
    throw error;
  });
  const exited = once(server, 'exit').then(() => {
    throw new Error('it ended before it was ready');
  });
  const ready = (async () => {
    for await (const line of createInterface({ input: server.stdout! })) {
      if (line.includes('Ready to accept connections')) return;
    }
    throw new Error('it said nothing');
  })();
  exited.catch(() => undefined);
  failed.catch(() => undefined);
  ready.catch(() => undefined);
  await Promise.race([ready, failed, exited]);
}
