// Offspring that left its process group (setsid, double fork) still carries the child's mark, in its environment and in one
// of its limits; the sweep finds it there and ends it (GB-015). Marks also name the manager's own process, so that a new
// one can end what a dead one left behind. Linux only: without /proc it finds nothing.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MARK } from '../environment.ts';
import { limitMarkOf, limitOf, managerOfLimit } from './limit-mark.ts';
import { removeTree } from './remove.ts';

const TOGETHER = 32;
const MAX_SWEEPS = 5;

/** pid and start time: a pid alone is used again. */
export function processName(pid: number | 'self'): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${stat.slice(0, stat.indexOf(' '))}.${fields[19]}`;
  } catch {
    return null;
  }
}

export interface MarkSweeper {
  /** Ends every process that carries the mark. */
  sweep(mark: string): Promise<void>;
}

export function createMarkSweeper(): MarkSweeper {
  // Many children end at once: they share a scan that starts after they asked.
  let running: Promise<Found> | null = null;
  let next: Promise<Found> | null = null;
  const scan = () => {
    const mine = marked().finally(() => {
      if (running === mine) running = null;
    });
    running = mine;
    return mine;
  };
  const freshScan = () => {
    if (running === null) return scan();
    next ??= running.then(() => {
      next = null;
      return scan();
    });
    return next;
  };
  return {
    async sweep(mark) {
      const limit = limitOf(mark);
      for (let i = 0; i < MAX_SWEEPS; i++) {
        const found = [...(await freshScan())].filter(
          ([, its]) => its.environment === mark || (limit !== null && its.limit === limit),
        );
        if (found.length === 0) return;
        for (const one of found) kill(one);
      }
    },
  };
}

/** What a process carries. */
interface Marks {
  readonly environment: string | null;
  readonly limit: string | null;
}

/** By pid. */
type Found = Map<number, Marks>;

/** For the start of a manager: what a manager that is no longer alive has left, processes and private directories. */
export async function sweepOrphans(tmpDir: string): Promise<number> {
  // What is started in a child's house carries that child's mark itself, and is that manager's to end.
  const ours = { environment: await environmentMarkOf('self'), limit: limitMarkOf('self') };
  const orphans = [...(await marked())].filter(([pid, its]) => isOrphaned(its, ours) && isOfOurWorld(pid));
  for (const one of orphans) kill(one);
  const names = await readdir(tmpDir).catch(() => []);
  for (const name of names) {
    const mark = /^lockkeeper-(\d+\.\d+)-/.exec(name)?.[1];
    if (mark !== undefined && isOrphan(mark)) await removeTree(join(tmpDir, name)).catch(() => {});
  }
  return orphans.length;
}

/** It begins with the name of a manager that is no more. */
export function isOrphan(mark: string): boolean {
  const [, name, pid] = /^((\d+)\.\d+)/.exec(mark) ?? [];
  return name !== undefined && processName('self') !== null && processName(Number(pid)) !== name;
}

function isOrphaned({ environment, limit }: Marks, ours: Marks): boolean {
  if (environment !== null && environment !== ours.environment && isOrphan(environment)) return true;
  return limit !== null && limit !== ours.limit && isOrphan(managerOfLimit(limit) ?? '');
}

/** In a container the managers have numbers of their own, so a living one there would look like none. */
function isOfOurWorld(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync('/proc/self/ns/pid');
  } catch {
    return false;
  }
}

/** Every process that carries a mark which we may read. */
async function marked(): Promise<Found> {
  const found: Found = new Map();
  const pids = everyPid();
  for (let i = 0; i < pids.length; i += TOGETHER) {
    await Promise.all(
      pids.slice(i, i + TOGETHER).map(async (pid) => {
        const its = { limit: limitMarkOf(pid), environment: await environmentMarkOf(pid) };
        if (its.limit !== null || its.environment !== null) found.set(pid, its);
      }),
    );
  }
  return found;
}

function everyPid(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  } catch {
    return [];
  }
}

async function environmentMarkOf(pid: number | 'self'): Promise<string | null> {
  try {
    return markIn(await readFile(`/proc/${pid}/environ`, 'latin1'));
  } catch {
    return null;
  }
}

function markIn(environment: string): string | null {
  const at = `\0${environment}`.indexOf(`\0${MARK}=`);
  if (at === -1) return null;
  const start = at + MARK.length + 1;
  const end = environment.indexOf('\0', start);
  return environment.slice(start, end === -1 ? undefined : end);
}

/** Looks once more: in the meantime another may have got its number. */
function kill([pid, { environment, limit }]: [number, Marks]): void {
  try {
    const same =
      limit === null
        ? markIn(readFileSync(`/proc/${pid}/environ`, 'latin1')) === environment
        : limitMarkOf(pid) === limit;
    if (same) process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
