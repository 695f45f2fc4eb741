// A cgroup (v2) for each child, where the system lends us one: what a child starts cannot leave it, so it ends as a whole
// even when offspring has left its session and cleared its environment; and the kernel holds it to its memory and its
// number of processes where those controllers are delegated. Elsewhere the sweep of /proc by the mark does what it can.

import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Cgroup {
  /** Stands before everything else on a command line: enters, and goes on as what follows, under the same pid. */
  readonly words: readonly string[];
  /** SIGKILL to everything in it. */
  kill(): void;
  /** Nothing of it stays; never rejects. */
  remove(): Promise<void>;
}

export interface CgroupLimits {
  readonly memoryMb: number;
  readonly processes: number | undefined;
}

export interface Cgroups {
  /** For one child; null: it could not be made. */
  make(name: string, limits: CgroupLimits): Cgroup | null;
  close(): Promise<void>;
}

const MIB = 1024 * 1024;
const PREFIX = 'lockkeeper-';
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/** Throws where a directory is named that cannot be used; `auto` finds one or does without. */
export function openCgroups(setting: string, self: string, isOrphan: (name: string) => boolean): Cgroups | null {
  const parent = setting === 'auto' ? ownCgroup() : setting;
  if (setting === 'off' || parent === null) return null;
  const base = join(parent, `${PREFIX}${self}`);
  try {
    sweep(parent, isOrphan);
    if (!existsSync(base)) mkdirSync(base);
    // Any other directory would take a child's name and hold nothing.
    if (!existsSync(join(base, 'cgroup.procs'))) throw Object.assign(new Error(), { code: 'no cgroup' });
  } catch (error) {
    if (setting === 'auto') return null;
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`children.cgroup: ${parent} cannot be used (${code}): delegate it to this user, or take it out`);
  }
  lend(parent);
  lend(base);
  return {
    make: (name, limits) => make(join(base, name), limits),
    close: () => removed(base),
  };
}

/** Controllers that this one has and that its children may use. A cgroup with processes in it refuses; then there are none. */
function lend(directory: string): void {
  for (const controller of ['memory', 'pids']) write(join(directory, 'cgroup.subtree_control'), `+${controller}`);
}

/**
 * The child goes in by itself: put in from outside it might have forked already, since the kernel takes its time over
 * that, during which this process would stand still. Nothing of a spec is in the script.
 */
const ENTER = ['/bin/sh', '-c', 'echo $$ > "$0"; exec "$@"'];

function make(directory: string, { memoryMb, processes }: CgroupLimits): Cgroup | null {
  try {
    mkdirSync(directory);
  } catch {
    return null;
  }
  if (memoryMb > 0) write(join(directory, 'memory.max'), String(memoryMb * MIB));
  if (processes !== undefined) write(join(directory, 'pids.max'), String(processes));
  const words = [...ENTER, join(directory, 'cgroup.procs')];
  return { words, kill: () => killAll(directory), remove: () => removed(directory) };
}

/** Kernels before 5.14 have no such file: then one by one, which forks may outrun, but not for ever. */
function killAll(directory: string): void {
  if (write(join(directory, 'cgroup.kill'), '1')) return;
  for (const pid of processesIn(directory)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

function processesIn(directory: string): number[] {
  try {
    return readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** The kernel lets go of it when the last of its processes is quite gone. */
async function removed(directory: string): Promise<void> {
  for (let n = 0; n < REMOVE_TRIES; n++) {
    try {
      await rmdir(directory);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
      killAll(directory);
      await delay(REMOVE_PAUSE_MS);
    }
  }
}

/** What managers that are no more have left. */
function sweep(parent: string, isOrphan: (name: string) => boolean): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX) || !isOrphan(name.slice(PREFIX.length))) continue;
    const base = join(parent, name);
    const below = readdirSync(base, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name: child } of below) killAll(join(base, child));
    void Promise.all(below.map(({ name: child }) => removed(join(base, child)))).then(() => removed(base));
  }
}

/** Not the root of all: whoever owns the machine has not lent us that. */
function ownCgroup(): string | null {
  try {
    const path = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => line.includes(' - cgroup2 '));
    if (path === undefined || mount === undefined) return null;
    const [, , , root, point] = mount.split(' ') as [string, string, string, string, string];
    const own = join(point, root !== '/' && path.startsWith(root) ? path.slice(root.length) : path);
    accessSync(own, constants.W_OK);
    return existsSync(join(own, 'cgroup.type')) ? own : null;
  } catch {
    return null;
  }
}

function write(file: string, text: string): boolean {
  try {
    // Never makes the file: one that is not there is a controller that we do not have.
    writeFileSync(file, text, { flag: 'r+' });
    return true;
  } catch {
    return false;
  }
}
