// From a server's spec to a running child (design §5 "Life of a process"): checked first, started without a shell in a
// group and a directory of its own, tied to our life where the system can do that. Never throws and never leaves a process
// or a directory behind when something fails half way (GB-017, GB-019).

import { type ChildProcess, spawn as spawnProcess } from 'node:child_process';
import { chownSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { memoryCapsOf, type ServerSpec, type StdioSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { Log } from '../raise/contract.ts';
import { findCommand, spawnFaultWords } from './command.ts';
import type { ChildEvents, Spawn } from './contract.ts';
import type { Cgroups } from './end/cgroup.ts';
import type { Guard } from './end/guard.ts';
import { createMarkSweeper, processName } from './end/marks.ts';
import { type ChildHost, childEnvironment } from './environment.ts';
import type { Rates } from './output-rate.ts';
import { DEFAULT_PATIENCE, type Patience, StdioChild } from './stdio-child.ts';
import { createWrapper, findTools, type Wrapper, type WrapperTools } from './wrapper.ts';

export interface SpawnDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly host: ChildHost;
  /** Fresh and unguessable at each call. */
  readonly token: () => string;
  readonly maxLineBytes: () => number;
  /** Absent: as fast as they can. */
  readonly rates?: () => Rates;
  /** Absent: the sweep by the mark alone finds what has left its group. */
  readonly cgroups?: Cgroups | null;
  /** Absent: who is killed leaves what the death signal does not reach to the next one's sweep. */
  readonly guard?: Pick<Guard, 'stand'> | null;
  /** Absent: what is installed. */
  readonly tools?: WrapperTools;
  readonly patience?: Partial<Patience>;
  /** What must be on the wire before a child is given anything to do. */
  readonly beforeWrite?: () => void;
}

interface Started {
  readonly process: ChildProcess | null;
  readonly fault: string | null;
  readonly home: string | null;
  readonly wrapped: boolean;
}

export function createSpawn(deps: SpawnDeps): Spawn {
  const sweeper = createMarkSweeper();
  const wrapper = createWrapper(deps.tools ?? findTools(deps.host.path));
  const self = processName('self') ?? `${process.pid}.0`;
  const patience = { ...DEFAULT_PATIENCE, ...deps.patience };
  return (spec: ServerSpec, events: ChildEvents) => {
    const token = deps.token();
    const mark = `${self}.${token}`;
    deps.guard?.stand();
    const { hard: memoryMb } = memoryCapsOf(spec.pool);
    const cgroup = deps.cgroups?.make(token, { memoryMb, processes: spec.stdio?.limits?.processes }) ?? null;
    const started = start(spec.stdio, deps.host, { self, mark, wrapper, before: cgroup?.words ?? [] });
    return new StdioChild({
      ...started,
      cgroup,
      spec,
      events,
      mark,
      sweeper,
      patience,
      clock: deps.clock,
      log: deps.log,
      maxLineBytes: deps.maxLineBytes(),
      rates: deps.rates?.() ?? null,
      beforeWrite: deps.beforeWrite ?? (() => {}),
    });
  };
}

interface Around {
  readonly self: string;
  readonly mark: string;
  readonly wrapper: Wrapper;
  /** What comes first on its command line. */
  readonly before: readonly string[];
}

function start(stdio: StdioSpec | undefined, host: ChildHost, { self, mark, wrapper, before }: Around): Started {
  const no = (fault: string): Started => ({ process: null, fault, home: null, wrapped: false });
  if (stdio === undefined) return no('it is a remote server');
  const isPrivate = stdio.cwd === PRIVATE_DIRECTORY;
  const found = findCommand(isPrivate ? { ...stdio, cwd: '/' } : stdio, stdio.env.PATH ?? host.path);
  if (found.kind === 'no') return no(found.words);
  const wrapping = wrapper.around(stdio, mark);
  if (wrapping.kind === 'no') return no(wrapping.words);
  let home: string;
  try {
    home = mkdtempSync(join(host.tmpDir, `lockkeeper-${self}-`));
    if (stdio.uid !== undefined) chownSync(home, stdio.uid, stdio.gid ?? stdio.uid);
  } catch (error) {
    return no(`no private directory could be made (${codeOf(error)})`);
  }
  const wrapped = wrapping.words.length > 0;
  const [file, ...args] = [...before, ...wrapping.words, found.file, ...stdio.args];
  try {
    const child = spawnProcess(file!, args, {
      cwd: isPrivate ? home : stdio.cwd,
      env: childEnvironment(host, stdio.env, home, mark),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
    });
    return { process: child, fault: null, home, wrapped };
  } catch (error) {
    return { process: null, fault: spawnFaultWords(codeOf(error), stdio.command), home, wrapped };
  }
}

/** As the configuration writes it. */
const PRIVATE_DIRECTORY = '~';

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
