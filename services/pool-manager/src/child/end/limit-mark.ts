// A second mark, for offspring that empties its environment (GB-015): the limit on the processor time of real-time programs,
// so high that it limits nobody. Whatever a program starts inherits it, through setsid, double forks and exec, daemons do not
// touch it, and anybody may read it, also of programs that hide their environment. It takes `prlimit`; Linux only.

import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** Of microseconds, above which only our marks are; "unlimited" is above them all. */
const FLOOR = 1n << 62n;
/** Ticks since the machine's start: thirty thousand years. */
const START_BITS = 40n;
/** The kernel's pids end at 2^22. */
const MAX_PID = 1n << 22n;
const page = Buffer.alloc(4096);
const LIMIT = /^Max realtime timeout +(\d+|unlimited) +(\d+|unlimited) /m;

/** As `prlimit --rttime` takes it: soft for the child, hard for its manager. `mark`: `<pid>.<start time>.<token>`. */
export function limitOf(mark: string): string | null {
  const manager = managerLimit(mark);
  if (manager === null) return null;
  const child = createHash('sha256').update(mark).digest().readBigUInt64LE() % FLOOR;
  return `${child}:${manager}`;
}

/** The hard limit of everything that a manager of that name has started. */
export function managerLimit(name: string): bigint | null {
  const [, pid, start] = /^(\d+)\.(\d+)(?:\.|$)/.exec(name) ?? [];
  if (pid === undefined || BigInt(pid) >= MAX_PID || BigInt(start!) >> START_BITS !== 0n) return null;
  return FLOOR + (BigInt(pid) << START_BITS) + BigInt(start!);
}

/** The manager's name as in a mark; null: not one of ours. */
export function managerOfLimit(limit: string): string | null {
  const hard = BigInt(limit.slice(limit.indexOf(':') + 1)) - FLOOR;
  if (hard < 0n || hard >> START_BITS >= MAX_PID) return null;
  return `${hard >> START_BITS}.${hard & ((1n << START_BITS) - 1n)}`;
}

/** Null: it carries none, or has ended; what is dead but not yet buried still has its limits. */
export function limitMarkOf(pid: number | 'self'): string | null {
  try {
    const [, soft, hard] = LIMIT.exec(limitsOf(pid)) ?? [];
    if (soft === undefined || soft === 'unlimited' || hard === 'unlimited') return null;
    const limit = `${soft}:${hard}`;
    return managerOfLimit(limit) === null || isDead(pid) ? null : limit;
  } catch {
    return null;
  }
}

/** Whoever is limited itself cannot raise that for its children; and if it carries a mark, so shall what it starts. */
export function mayMark(): boolean {
  try {
    return LIMIT.exec(limitsOf('self'))?.[2] === 'unlimited';
  } catch {
    return false;
  }
}

/** Read of every process of the machine at each child's end, so in one call and without a promise. */
function limitsOf(pid: number | 'self'): string {
  const file = openSync(`/proc/${pid}/limits`, 'r');
  try {
    return page.toString('latin1', 0, readSync(file, page, 0, page.length, 0));
  } finally {
    closeSync(file);
  }
}

function isDead(pid: number | 'self'): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return 'ZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
}
