// What children use of the machine, from /proc: one pass over all processes for all children, which costs some
// microseconds a process. A daemon that has left both its session and its ancestors is its child's by its mark.

import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Usage, UsageReader } from '../pool/meter/contract.ts';
import { limitMarkOf } from './end/limit-mark.ts';

/** Linux has told times to programs in this unit for ever, whatever the kernel's own. */
const TICK_MS = 10;
const TOGETHER = 64;
const AT_PAGESZ = 6n;

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** Since the machine's start. */
  readonly startTicks?: number;
  /** The child whose mark it carries. */
  readonly markedBy?: number | null;
}

export function createUsageReader(): UsageReader {
  const pageBytes = pageSize();
  const sinceTicks = factsOf('self', pageBytes)?.startTicks ?? 0;
  return {
    async read(leaders) {
      return sumUp(await everyProcess(pageBytes, markedBy(leaders, sinceTicks)), leaders);
    },
    async exactBytes(processes) {
      const parts = await Promise.all(processes.map(proportionalBytes));
      // One that has just ended uses nothing; none that can be read tells nothing.
      const known = parts.filter((bytes) => bytes !== null);
      return known.length === 0 ? null : known.reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

/** Pure, for its test. */
export function sumUp(all: readonly ProcessFacts[], leaders: ReadonlySet<number>): Map<number, Usage> {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const sums = new Map<number, { memoryBytes: number; cpuMs: number; processes: number[] }>();
  for (const facts of all) {
    const leader = leaderOf(facts, leaders, parents);
    if (leader === null) continue;
    const sum = sums.get(leader) ?? { memoryBytes: 0, cpuMs: 0, processes: [] };
    sum.memoryBytes += facts.memoryBytes;
    sum.cpuMs += facts.cpuMs;
    sum.processes.push(facts.pid);
    sums.set(leader, sum);
  }
  return sums;
}

/** Only asked of what is in no child's session and has begun after us, since it costs as much as the rest. */
function markedBy(leaders: ReadonlySet<number>, sinceTicks: number): (facts: ProcessFacts) => number | null {
  const ours = limitMarkOf('self');
  const owners = new Map<string, number>();
  for (const leader of leaders) {
    const limit = limitMarkOf(leader);
    // A mark that we carry ourselves is no child's of ours.
    if (limit !== null && limit !== ours) owners.set(limit, leader);
  }
  return ({ pid, session, startTicks = 0 }) => {
    if (owners.size === 0 || leaders.has(session) || startTicks < sinceTicks) return null;
    const limit = limitMarkOf(pid);
    return limit === null ? null : (owners.get(limit) ?? null);
  };
}

function leaderOf(
  { pid, session, group, markedBy = null }: ProcessFacts,
  leaders: ReadonlySet<number>,
  parents: ReadonlyMap<number, number>,
): number | null {
  if (leaders.has(session)) return session;
  if (leaders.has(group)) return group;
  const seen = new Set<number>();
  for (let at: number | undefined = pid; at !== undefined && at > 1 && !seen.has(at); at = parents.get(at)) {
    if (leaders.has(at)) return at;
    seen.add(at);
  }
  return markedBy;
}

async function everyProcess(
  pageBytes: number,
  markedBy: (facts: ProcessFacts) => number | null,
): Promise<ProcessFacts[]> {
  const found: ProcessFacts[] = [];
  const pids = everyPid();
  for (let i = 0; i < pids.length; i += TOGETHER) {
    // Calls come first.
    if (i > 0) await breathe();
    for (const pid of pids.slice(i, i + TOGETHER)) {
      const facts = factsOf(pid, pageBytes);
      if (facts !== null) found.push({ ...facts, markedBy: markedBy(facts) });
    }
  }
  return found;
}

/** From what the kernel told this very program at its start; machines with other pages than 4 KB exist. */
function pageSize(): number {
  try {
    const auxiliary = readFileSync('/proc/self/auxv');
    for (let at = 0; at + 16 <= auxiliary.length; at += 16) {
      if (auxiliary.readBigUInt64LE(at) === AT_PAGESZ) return Number(auxiliary.readBigUInt64LE(at + 8));
    }
  } catch {
    // No /proc, so nothing to measure either.
  }
  return 4096;
}

function everyPid(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid));
  } catch {
    return [];
  }
}

function factsOf(process: number | 'self', pageBytes: number): ProcessFacts | null {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'latin1');
    const pid = Number.parseInt(stat, 10);
    // The second field is the name in brackets, and may itself hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent, group, session] = [1, 2, 3].map((at) => Number(fields[at])) as [number, number, number];
    const ticks = Number(fields[11]) + Number(fields[12]);
    const memoryBytes = Number(fields[21]) * pageBytes;
    return { pid, parent, group, session, cpuMs: ticks * TICK_MS, memoryBytes, startTicks: Number(fields[19]) };
  } catch {
    return null;
  }
}

async function proportionalBytes(pid: number): Promise<number | null> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
    const kib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
    return kib === undefined ? null : Number(kib) * 1024;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 0 : null;
  }
}
