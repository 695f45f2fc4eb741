// From a server's spec to a running child (design §5 "Life of a process"): checked first, started without a shell in a
// group and a directory of its own, tied to our life where the system can do that. Never throws and never leaves a process
// or a directory behind when something fails half way (GB-017, GB-019).

import { type ChildProcess, spawn as spawnProcess, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock } from '@lockkeeper/state/clock';
import type { Log } from '../raise/contract.ts';
import { findCommand, spawnFaultWords } from './command.ts';
import type { ChildEvents, Spawn } from './contract.ts';
import { type ChildHost, childEnvironment } from './environment.ts';
import { createMarkSweeper, processName } from './marks.ts';
import { DEFAULT_PATIENCE, type Patience, StdioChild } from './stdio-child.ts';

export interface SpawnDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly host: ChildHost;
  /** Fresh and unguessable at each call. */
  readonly token: () => string;
  readonly maxLineBytes: () => number;
  readonly patience?: Partial<Patience>;
  /** What must be on the wire before a child is given anything to do. */
  readonly beforeWrite?: () => void;
}

interface Started {
  readonly process: ChildProcess | null;
  readonly fault: string | null;
  readonly home: string | null;
}

export function createSpawn(deps: SpawnDeps): Spawn {
  const sweeper = createMarkSweeper();
  const prefix = deathSignal(deps.host.path);
  const self = processName('self') ?? `${process.pid}.0`;
  const patience = { ...DEFAULT_PATIENCE, ...deps.patience };
  return (spec: ServerSpec, events: ChildEvents) => {
    const mark = `${self}.${deps.token()}`;
    const started = start(spec, deps.host, self, mark, prefix);
    return new StdioChild({
      ...started,
      spec,
      events,
      mark,
      sweeper,
      patience,
      clock: deps.clock,
      log: deps.log,
      maxLineBytes: deps.maxLineBytes(),
      wrapped: prefix.length > 0,
      beforeWrite: deps.beforeWrite ?? (() => {}),
    });
  };
}

/** A child whose manager dies without a word dies with it, where util-linux is there. */
function deathSignal(path: string): readonly string[] {
  const found = findCommand({ command: 'setpriv', cwd: '/' }, path);
  if (found.kind === 'no') return [];
  const words = [found.file, '--pdeathsig', 'KILL', '--'];
  const trial = spawnSync(words[0]!, [...words.slice(1), process.execPath, '--version'], { stdio: 'ignore', env: {} });
  return trial.status === 0 ? words : [];
}

function start(spec: ServerSpec, host: ChildHost, self: string, mark: string, prefix: readonly string[]): Started {
  const { stdio } = spec;
  if (stdio === undefined) return { process: null, fault: 'it is a remote server', home: null };
  const found = findCommand(stdio, stdio.env.PATH ?? host.path);
  if (found.kind === 'no') return { process: null, fault: found.words, home: null };
  let home: string;
  try {
    home = mkdtempSync(join(host.tmpDir, `lockkeeper-${self}-`));
  } catch (error) {
    return { process: null, fault: `no private directory could be made (${codeOf(error)})`, home: null };
  }
  const [file, ...args] = [...prefix, found.file, ...stdio.args];
  try {
    const child = spawnProcess(file!, args, {
      cwd: stdio.cwd,
      env: childEnvironment(host, stdio.env, home, mark),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      shell: false,
    });
    return { process: child, fault: null, home };
  } catch (error) {
    return { process: null, fault: spawnFaultWords(codeOf(error), stdio.command), home };
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
