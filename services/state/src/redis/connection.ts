// One connection to Redis that is opened by the first operation and never makes a caller wait for an outage: while
// Redis is known to be away, operations are refused at once and the connection is tried again beside them (design §6
// "a Redis outage must not break calls that need no shared state"). Nothing is queued for later and nothing is sent
// twice: a check-and-set whose answer was lost must not run again.

import { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import { StateError } from '../errors.ts';
import { translated } from './faults.ts';

export interface ConnectionDeps {
  readonly url: string;
  readonly name: string;
  readonly clock: Clock;
  readonly warn: (words: string) => void;
  readonly connectTimeoutMs?: number;
  readonly commandTimeoutMs?: number;
  /** At most this many operations wait for the first connect, or are under way. */
  readonly maxPending?: number;
}

export interface Connection {
  run<T>(operation: (client: Redis) => Promise<T>): Promise<T>;
  /** Called each time the connection is usable (again). */
  onReady(listener: (client: Redis) => void): void;
  reachable(): boolean;
  readonly client: Redis;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3000;
const COMMAND_TIMEOUT_MS = 3000;
const MAX_PENDING = 20_000;
const MAX_RETRY_MS = 1000;

export function createConnection(deps: ConnectionDeps): Connection {
  const connectTimeoutMs = deps.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const maxPending = deps.maxPending ?? MAX_PENDING;
  const client = openClient(deps, connectTimeoutMs);
  let away = false;
  let closing: Promise<void> | null = null;
  let first: Promise<void> | null = null;
  let pending = 0;

  function lost(why: string): void {
    if (away || closing !== null) return;
    away = true;
    const where = `${client.options.host ?? 'localhost'}:${client.options.port ?? 6379}`;
    deps.warn(`Redis at ${where} (${deps.name}) is unreachable: ${why}. Calls that need no shared state go on.`);
  }

  client.on('error', (error: Error) => lost(reasonOf(error)));
  client.on('close', () => lost('the connection closed'));
  client.on('ready', () => {
    if (away) deps.warn(`Redis (${deps.name}) is reachable again.`);
    away = false;
  });

  // Only the very first connect is waited for, by everyone together and no longer than the deadline.
  function firstConnect(): Promise<void> {
    first ??= new Promise<void>((resolve, reject) => {
      const timer = deps.clock.setTimer(connectTimeoutMs, () => {
        lost('no answer in time');
        reject(unreachable());
      });
      client.connect().then(
        () => {
          timer.clear();
          resolve();
        },
        (error: unknown) => {
          timer.clear();
          lost(reasonOf(error));
          reject(unreachable());
        },
      );
    });
    return first;
  }

  async function run<T>(operation: (client: Redis) => Promise<T>): Promise<T> {
    if (closing !== null) throw new StateError('ERR_STATE_CLOSED', 'the store is closed');
    if (away || pending >= maxPending) throw unreachable();
    pending++;
    try {
      if (client.status !== 'ready') await firstConnect();
      return await operation(client);
    } catch (error) {
      // A mistake of ours is no outage.
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      // A connection that swallows a command is dead though its socket lives; start a new one, refuse meanwhile.
      if (error instanceof Error && error.message === 'Command timed out' && client.status === 'ready') {
        lost('no answer in time');
        client.disconnect(true);
      }
      throw translated(error);
    } finally {
      pending--;
    }
  }

  return {
    client,
    run,
    onReady: (listener) => {
      client.on('ready', () => listener(client));
    },
    reachable: () => !away && closing === null,
    close() {
      closing ??= endClient(client);
      return closing;
    },
  };
}

function openClient(deps: ConnectionDeps, connectTimeoutMs: number): Redis {
  return new Redis(deps.url, {
    connectionName: `lockkeeper-${deps.name}`,
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    commandTimeout: deps.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), MAX_RETRY_MS),
    // After a failover the old primary answers READONLY: look for the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

async function endClient(client: Redis): Promise<void> {
  if (client.status === 'ready') {
    // An error here means that it is gone already.
    await client.quit().catch(() => client.disconnect());
  } else {
    client.disconnect();
  }
}

function unreachable(): StateError {
  return new StateError('ERR_STATE_UNREACHABLE', 'Redis is unreachable');
}

/** Codes only: messages of foreign errors may carry what was sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = (error as NodeJS.ErrnoException).code;
  return code ?? translated(error).message;
}
