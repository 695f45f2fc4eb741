// Starts a process of ours, waits for its ready line, keeps its logs and ends it by pid. Ending also proves that it took
// its children with it: one left behind fails the test and is then ended here.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { eventually, within } from './eventually.ts';
import { aliveAmong, descendants } from './process-tree.ts';

export interface StartOptions {
  readonly args: readonly string[];
  /** Default: the Node that runs the tests. */
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly readyMs?: number;
  /** For programs that are not ours and print no ready line: asked until it answers. */
  readonly readyWhen?: () => Promise<unknown>;
}

export interface Running {
  readonly pid: number;
  /** The parsed ready line. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Everything written to stdout and stderr so far (the last 4 MB). */
  logs(): string;
  /** SIGTERM, then waits; fails if it had to be killed or left children behind. Idempotent. */
  stop(): Promise<void>;
  /** SIGKILL, for tests of sudden death. Its children are not looked at. */
  kill(): Promise<void>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

const KEPT_BYTES = 4 * 1024 * 1024;
const STOP_MS = 15_000;

function collect(child: ChildProcess): { logs: () => string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes - chunks[0]!.length > KEPT_BYTES) bytes -= chunks.shift()!.length;
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  return { logs: () => Buffer.concat(chunks).toString('utf8') };
}

/** The first stdout line that is a JSON object with `ready: true`. */
async function readyLine(child: ChildProcess): Promise<Record<string, unknown>> {
  const lines = createInterface({ input: child.stdout! });
  try {
    for await (const line of lines) {
      if (!line.startsWith('{') || !line.includes('"ready"')) continue;
      const parsed = JSON.parse(line) as Record<string, unknown>;
      if (parsed.ready === true) return parsed;
    }
  } finally {
    lines.close();
  }
  throw new Error('the process ended before it was ready');
}

async function stopAndProve(child: ChildProcess, exited: Running['exited'], logs: () => string): Promise<void> {
  const family = descendants(child.pid!);
  child.kill('SIGTERM');
  try {
    await within(exited, STOP_MS, 'stop');
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`process ${child.pid} did not stop\n${logs()}`, { cause: error });
  }
  try {
    await eventually(() => aliveAmong(family).length === 0, { deadlineMs: 5_000 });
  } catch (error) {
    const left = aliveAmong(family);
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    const named = left.map(({ pid, command }) => `${pid} ${command}`).join('\n');
    throw new Error(`left behind:\n${named}`, { cause: error });
  }
}

/** What is still running when the test process itself ends, by whatever way, ends with it. */
const alive = new Set<ChildProcess>();
let watching = false;

function endWithUs(child: ChildProcess): void {
  if (!watching) {
    watching = true;
    process.once('exit', () => {
      for (const one of alive) one.kill('SIGKILL');
    });
    process.once('SIGTERM', () => process.exit(143));
    process.once('SIGINT', () => process.exit(130));
  }
  alive.add(child);
  child.once('exit', () => alive.delete(child));
}

export async function startProcess(options: StartOptions): Promise<Running> {
  const child = spawn(options.command ?? process.execPath, options.args, {
    cwd: options.cwd,
    env: { ...process.env, LOCKKEEPER_READY: 'json', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithUs(child);
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as never);
  const { logs } = collect(child);
  const deadlineMs = options.readyMs ?? 20_000;
  const asked = options.readyWhen;
  let ready: Record<string, unknown> = {};
  try {
    if (asked) await eventually(() => asked().then(() => true), { deadlineMs, everyMs: 50 });
    else ready = await within(readyLine(child), deadlineMs, 'ready line');
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${options.args.join(' ')}: ${(error as Error).message}\n${logs()}`, { cause: error });
  }
  child.stdout?.resume();
  let stopping: Promise<void> | null = null;
  return {
    pid: child.pid!,
    ready,
    logs,
    exited,
    stop: () => {
      stopping ??=
        child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : stopAndProve(child, exited, logs);
      return stopping;
    },
    kill: async () => {
      stopping ??= Promise.resolve();
      child.kill('SIGKILL');
      await exited;
    },
  };
}
