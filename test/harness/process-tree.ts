// Who descends from whom, and how much memory and CPU a process has used, read from /proc. Linux only, like CI.

import { readdirSync, readFileSync } from 'node:fs';

interface Known {
  readonly pid: number;
  readonly parent: number;
  /** Start time in ticks: tells a reused pid from the one we knew. */
  readonly startedAt: string;
  readonly command: string;
}

function statFields(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in brackets and may itself hold blanks and brackets.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

function known(pid: number): Known | null {
  const fields = statFields(pid);
  if (!fields || fields[0] === 'Z') return null;
  let command = '';
  try {
    command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return null;
  }
  return { pid, parent: Number(fields[1]), startedAt: fields[19] ?? '', command };
}

function everyone(): Known[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((name) => known(Number(name))).filter((one) => one !== null);
}

/** Without the shells that wait for a pool manager's sudden death: they are of its own. */
export function descendants(root: number): readonly Known[] {
  const all = everyone();
  const found: Known[] = [];
  let parents = new Set([root]);
  while (parents.size > 0) {
    const next = all.filter(({ parent }) => parents.has(parent));
    found.push(...next.filter(({ command }) => !command.includes(' lockkeeper-guard ')));
    parents = new Set(next.map(({ pid }) => pid));
  }
  return found;
}

export function aliveAmong(family: readonly Known[]): readonly Known[] {
  return family.filter(({ pid, startedAt }) => known(pid)?.startedAt === startedAt);
}

/** User and system time of one process in milliseconds (a tick is 10 ms on Linux). */
export function cpuMs(pid: number): number {
  const fields = statFields(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) * 10 : 0;
}

/** Resident memory now and at its highest, in megabytes. */
export function memoryMb(pid: number): { readonly now: number; readonly peak: number } {
  let status = '';
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return { now: 0, peak: 0 };
  }
  const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { now: Math.round(kb('VmRSS') / 1024), peak: Math.round(kb('VmHWM') / 1024) };
}
