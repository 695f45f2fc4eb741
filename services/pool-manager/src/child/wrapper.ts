// What stands before a program on its command line (auth-security I-11, §3.4): prlimit for what the kernel shall hold it
// to; setpriv for its user, so that it gains no rights by what it executes, and so that it dies with us even when we are
// killed. prlimit also marks its offspring (end/limit-mark.ts). Where these are not installed that and the last two are done
// without; what a spec asks for is never left out silently.

import { spawnSync } from 'node:child_process';
import type { ProcessLimits, StdioSpec } from '@lockkeeper/protocol/config/settings';
import { findCommand } from './command.ts';
import { limitOf, mayMark } from './end/limit-mark.ts';
import { processName } from './end/marks.ts';

export type Wrapping =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'no'; readonly words: string };

export interface Wrapper {
  /** `mark`: the child's; absent: none is set. */
  around(stdio: Pick<StdioSpec, 'limits' | 'uid' | 'gid'>, mark?: string): Wrapping;
}

export interface WrapperTools {
  /** Paths; null: not installed, or not working here. */
  readonly prlimit: string | null;
  readonly setpriv: string | null;
  readonly isRoot: boolean;
  /** prlimit may mark what we start. */
  readonly marks?: boolean;
}

const MIB = 1024 * 1024;
const ALWAYS = ['--no-new-privs', '--pdeathsig', 'KILL'];
/** Between the signal that says so and the end. */
const CPU_GRACE_SECONDS = 5;

export function createWrapper({ prlimit, setpriv, isRoot, marks = false }: WrapperTools): Wrapper {
  function fault({ limits, uid }: Pick<StdioSpec, 'limits' | 'uid'>): string | null {
    if (limits !== undefined && prlimit === null) return 'stdio.limits needs prlimit (util-linux), which is not here';
    if (uid === undefined) return null;
    if (setpriv === null) return 'stdio.uid needs setpriv (util-linux), which is not here';
    return isRoot ? null : 'stdio.uid needs a pool manager that runs as root';
  }
  return {
    around(stdio, mark) {
      const words = fault(stdio);
      if (words !== null) return { kind: 'no', words };
      const { limits, uid, gid = uid } = stdio;
      const limit = mark === undefined || !marks ? null : limitOf(mark);
      const held = [...(limits === undefined ? [] : limitWords(limits)), ...(limit === null ? [] : [markWord(limit)])];
      const limited = held.length === 0 ? [] : [prlimit!, ...held, '--'];
      if (setpriv === null) return { kind: 'words', words: limited };
      const user = uid === undefined ? [] : ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'];
      return { kind: 'words', words: [...limited, setpriv, ...user, ...ALWAYS, '--'] };
    },
  };
}

/** Found once, and tried: a kernel or a container may refuse what is installed. */
export function findTools(path: string): WrapperTools {
  const prlimit = working('prlimit', ['--version'], path);
  // Under our own name: that of nobody would be swept by a manager that starts at the same moment.
  const trial = limitOf(`${processName('self')}.trial`);
  return {
    prlimit,
    setpriv: working('setpriv', [...ALWAYS, '--', process.execPath, '--version'], path),
    isRoot: process.geteuid?.() === 0,
    marks:
      prlimit !== null &&
      trial !== null &&
      mayMark() &&
      working('prlimit', [markWord(trial), '--', prlimit, '--version'], path) !== null,
  };
}

function markWord(limit: string): string {
  return `--rttime=${limit}`;
}

function working(name: string, trial: readonly string[], path: string): string | null {
  const found = findCommand({ command: name, cwd: '/' }, path);
  if (found.kind === 'no') return null;
  return spawnSync(found.file, trial, { stdio: 'ignore', env: {} }).status === 0 ? found.file : null;
}

function limitWords(limits: ProcessLimits): string[] {
  const { openFiles, processes, fileSizeMb, cpuSeconds, addressSpaceMb } = limits;
  return [
    ...(openFiles === undefined ? [] : [`--nofile=${openFiles}`]),
    ...(processes === undefined ? [] : [`--nproc=${processes}`]),
    ...(fileSizeMb === undefined ? [] : [`--fsize=${fileSizeMb * MIB}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + CPU_GRACE_SECONDS}`]),
    ...(addressSpaceMb === undefined ? [] : [`--as=${addressSpaceMb * MIB}`]),
  ];
}
