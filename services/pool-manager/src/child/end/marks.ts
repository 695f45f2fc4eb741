// Offspring that left its process group (setsid, double fork) still carries the child's mark in its environment; the sweep
// finds it there and ends it (GB-015). Marks also name the manager's own process, so that a new one can end what a dead
// one left behind. Linux only: without /proc it finds nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MARK } from '../environment.ts';
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
  let running: Promise<Map<number, string>> | null = null;
  let next: Promise<Map<number, string>> | null = null;
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
      for (let i = 0; i < MAX_SWEEPS; i++) {
        const found = [...(await freshScan())].filter(([, its]) => its === mark);
        if (found.length === 0) return;
        for (const [pid] of found) kill(pid);
      }
    },
  };
}

/** For the start of a manager: what a manager that is no longer alive has left, processes and private directories. */
export async function sweepOrphans(tmpDir: string): Promise<number> {
  const all = await marked();
  const orphans = [...all].filter(([, mark]) => isOrphan(mark));
  for (const [pid] of orphans) kill(pid);
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

/** Every process whose environment we may read and that carries a mark. */
async function marked(): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const pids = everyPid();
  for (let i = 0; i < pids.length; i += TOGETHER) {
    await Promise.all(
      pids.slice(i, i + TOGETHER).map(async (pid) => {
        const mark = await markOf(pid);
        if (mark !== null) found.set(pid, mark);
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

async function markOf(pid: number): Promise<string | null> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1');
    const at = `\0${environment}`.indexOf(`\0${MARK}=`);
    if (at === -1) return null;
    const start = at + MARK.length + 1;
    const end = environment.indexOf('\0', start);
    return environment.slice(start, end === -1 ? undefined : end);
  } catch {
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
