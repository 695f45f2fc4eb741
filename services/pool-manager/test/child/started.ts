// A real child under test: a fixture of test/servers started with recorded events, and a way to talk to it.

import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import type { Child, ExitReason } from '../../src/child/contract.ts';
import { createSpawn, type SpawnDeps } from '../../src/child/spawn.ts';

export const SERVERS = fileURLToPath(new URL('../../../../test/servers/', import.meta.url));
export const QUICK = { closeMs: 500, termMs: 500, goneMs: 2000, stallMs: 10_000, drainMs: 300 };

export function serverSpec(stdio: Partial<ServerSpec['stdio']>, more: Partial<ServerSpec> = {}): ServerSpec {
  return {
    name: 'fixture',
    tenant: 'acme',
    stdio: { command: process.execPath, args: [], env: {}, cwd: SERVERS, ...stdio },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    pool: { max: 8, minWarm: 0, idleMs: 300_000, maxAgeMs: 86_400_000, maxUses: 1_000_000 },
    era: 'auto',
    startTimeoutMs: 30_000,
    callTimeoutMs: 60_000,
    digest: 'd1',
    ...more,
  };
}

export function testSpawn(deps: Partial<SpawnDeps> = {}) {
  return createSpawn({
    clock: systemClock,
    log: { warn: (fields, words) => console.error(words, fields) },
    host: { path: process.env.PATH ?? '/usr/bin:/bin', tmpDir: tmpdir() },
    token: () => randomBytes(12).toString('hex'),
    maxLineBytes: () => 1_000_000,
    patience: QUICK,
    ...deps,
  });
}

/** Waits until there is one. */
async function found<T extends object>(look: () => T | undefined): Promise<T> {
  return (await eventually(() => look() ?? false)) as T;
}

export interface Started {
  readonly child: Child;
  readonly lines: string[];
  readonly faults: { kind: string; detail: string; id: string | null | undefined }[];
  readonly exits: ExitReason[];
  /** Sends a request and gives the line that answers it. */
  ask(method: string, params?: object): Promise<Record<string, unknown>>;
  call(name: string, args?: object): Promise<string>;
  exit(): Promise<ExitReason>;
}

let nextId = 1;
const children: Child[] = [];

// A test that fails half way leaves nothing running.
after(async () => {
  await Promise.all(children.map((child) => child.stop('end of the test')));
});

export function start(spec: ServerSpec, spawn = testSpawn()): Started {
  const lines: string[] = [];
  const faults: Started['faults'] = [];
  const exits: ExitReason[] = [];
  const child = spawn(spec, {
    line: (line) => lines.push(Buffer.from(line).toString()),
    fault: (kind, detail, id) => faults.push({ kind, detail, id }),
    exit: (reason) => exits.push(reason),
  });
  children.push(child);
  const ask: Started['ask'] = async (method, params = {}) => {
    const id = nextId++;
    child.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })));
    return found(() => {
      const answer = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find((m) => m.id === id);
      return answer;
    });
  };
  return {
    child,
    lines,
    faults,
    exits,
    ask,
    async call(name, args = {}) {
      const answer = await ask('tools/call', { name, arguments: args });
      return (answer.result as { content: { text: string }[] }).content[0]!.text;
    },
    exit: () => found(() => exits[0]),
  };
}

export const fixture = (name: string, env: Record<string, string> = {}, more: Partial<ServerSpec> = {}) =>
  serverSpec({ args: [`${SERVERS}${name}.mjs`], env }, more);

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
