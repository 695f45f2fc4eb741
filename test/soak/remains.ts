// What is left when everybody has gone: processes, descriptors, leases, waiters, files, keys. Empty lists are the wish.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Redis } from 'ioredis';
import { lasting } from '../kill/keys.ts';
import { number, readMetrics } from './metrics.ts';
import { MARK, type Service, type Stage } from './stage.ts';

/** Gauges that are zero where nothing goes on. */
const OF_NODES = [
  'lockkeeper_pool_children',
  'lockkeeper_pool_leases',
  'lockkeeper_pool_waiting',
  'lockkeeper_pool_oldest_waiter_seconds',
  'lockkeeper_dispatch_open',
  'lockkeeper_parked_exchanges',
  'lockkeeper_task_open',
  'lockkeeper_link_streams',
];
const OF_GATEWAYS = ['lockkeeper_exchange_open', 'lockkeeper_http_streams_open'];

/** What goes on still, in words. */
export async function goingOn(stage: Stage): Promise<string[]> {
  const found: string[] = [];
  const look = async (service: Service, names: readonly string[]): Promise<void> => {
    const metrics = await readMetrics(service);
    for (const name of names) {
      const value = number(metrics, name);
      if (value !== 0) found.push(`${service.name}: ${name} ${value}`);
    }
  };
  await Promise.all([
    ...stage.nodes.map((node) => look(node, OF_NODES)),
    ...stage.gateways.map((gateway) => look(gateway, OF_GATEWAYS)),
  ]);
  return found;
}

/** Processes that carry our mark, whoever their parent is by now. */
export function processesLeft({ mark }: Stage): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`${MARK}=${mark}`))
    .map((pid) => {
      const state = /^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? '?';
      return `${pid} ${state} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`;
    });
}

export function filesLeft({ tmp }: Stage): string[] {
  return readdirSync(tmp);
}

/** Descriptors of a process by kind. */
export function descriptors(pid: number): ReadonlyMap<string, number> {
  const kinds = new Map<string, number>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    let kind: string;
    try {
      kind = readlinkSync(`/proc/${pid}/fd/${name}`).replace(/:?\[.*/, '');
    } catch {
      continue;
    }
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

export function moreThan(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string[] {
  return [...now].flatMap(([kind, count]) => {
    const known = before.get(kind) ?? 0;
    return count > known ? [`${kind} ${known} → ${count}`] : [];
  });
}

export interface Keys {
  /** Without a time to live. */
  readonly forEver: readonly string[];
  /** By what they are, names and numbers taken out. */
  readonly kinds: ReadonlyMap<string, Kind>;
}

interface Kind {
  readonly count: number;
  /** Of the one that stays longest. */
  readonly longestMs: number;
}

export async function keysLeft({ redis }: Stage): Promise<Keys> {
  const { ours } = await lasting(redis);
  const client = new Redis(redis);
  try {
    const kinds = new Map<string, Kind>();
    for await (const batch of client.scanStream({ count: 1_000 })) {
      for (const key of batch as string[]) {
        const { count, longestMs } = kinds.get(kindOf(key)) ?? { count: 0, longestMs: 0 };
        kinds.set(kindOf(key), { count: count + 1, longestMs: Math.max(longestMs, await client.pttl(key)) });
      }
    }
    return { forEver: ours, kinds };
  } finally {
    client.disconnect();
  }
}

/** `lk:{tenant}:sess:…:call:…` → `sess:call`: the parts that are words of ours. */
function kindOf(key: string): string {
  const [, , ...parts] = key.split(':');
  return parts.filter((part) => /^[a-z-]{2,20}$/.test(part)).join(':') || 'other';
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
