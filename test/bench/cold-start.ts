// A process from nothing: started by hand and asked once, beside the first call of a person who has none yet. In turns,
// since a machine's mood is larger than the difference.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { median } from './table.ts';

export interface ColdStart {
  /** Milliseconds, medians. */
  readonly bare: number;
  readonly ours: number;
  readonly warm: number;
}

const HELLO = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};
const READY = { jsonrpc: '2.0', method: 'notifications/initialized' };
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } };

/** `spawn`, `initialize`, one call. */
async function bare(program: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  say(HELLO);
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line) as { id?: number };
    if (id === 1) break;
    say(READY);
    say(CALL);
  }
  const took = performance.now() - startedAt;
  child.stdin.end();
  await ended;
  return took;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export async function measureColdStart(
  program: string,
  times: number,
  call: (who: string) => Promise<void>,
): Promise<ColdStart> {
  const figures = { bare: [] as number[], ours: [] as number[], warm: [] as number[] };
  for (let i = 0; i < times; i += 1) {
    figures.bare.push(await bare(program));
    figures.ours.push(await timed(() => call(`cold${i}`)));
    figures.warm.push(await timed(() => call(`cold${i}`)));
  }
  return { bare: median(figures.bare), ours: median(figures.ours), warm: median(figures.warm) };
}
