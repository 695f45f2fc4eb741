// `npm run bench`: what Lockkeeper costs, side by side in one run with a bare Fastify echo, a bare pipe and two published
// bridges over the same child. Rounds are interleaved and medians taken, since the machine's own mood is larger than the
// differences. `--quick` for a look, `--check` to fail below the thresholds, `--only name,name` to narrow.

import { parseArgs } from 'node:util';
import { cpuMs, memoryMb } from '../harness/process-tree.ts';
import { judge } from './check.ts';
import { measureFlood } from './flood.ts';
import { type Loader, startLoader } from './loader.ts';
import { openPipe, type Pipe } from './pipe.ts';
import { block, bytesName, middle, type Row, type Sample } from './table.ts';
import {
  type Measured,
  startLockkeeper,
  startMcpProxy,
  startOrigin,
  startSupergateway,
  type Target,
} from './targets.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    node: { type: 'string', default: '' },
    'no-flood': { type: 'boolean', default: false },
    tcp: { type: 'boolean', default: false },
  },
});

const ROUNDS = flags.quick ? 1 : 3;
const DURATION_MS = flags.quick ? 700 : 1_000;
const KIB = 1024;
const CELLS = [200, 10 * KIB, KIB * KIB].flatMap((payload) =>
  [1, 32, 256].map((concurrency) => ({ payload, concurrency })),
);

/** Cells in which Lockkeeper itself refused or broke a call: worse than slow. */
const fallen: string[] = [];

interface Cell {
  readonly payload: number;
  readonly concurrency: number;
}

/** Bridges are there for the ratio that is asked of us; elsewhere they would only make the run long. */
function takesPart(target: Target, { payload, concurrency }: Cell): boolean {
  if (target.name === 'lockkeeper' || target.name === 'fastify echo') return true;
  return payload <= target.maxPayload && concurrency === 32;
}

async function one(loader: Loader, target: Target, cell: Cell): Promise<Sample> {
  const before = target.services.map(({ pid }) => cpuMs(pid));
  const result = await loader.run({ ...target.request, ...cell, durationMs: DURATION_MS, atLeast: 1 });
  const spent = target.services.reduce((sum, { pid }, index) => sum + cpuMs(pid) - before[index]!, 0);
  return { ...result, cpuUs: (spent * 1000) / result.calls };
}

async function measureCell(loader: Loader, targets: readonly Target[], pipe: Pipe | null, cell: Cell): Promise<Row[]> {
  const samples = new Map<string, Sample[]>();
  const out = new Set<string>();
  const add = (name: string, sample: Sample) => samples.set(name, [...(samples.get(name) ?? []), sample]);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const target of targets) {
      if (!takesPart(target, cell) || out.has(target.name)) continue;
      try {
        add(target.name, await one(loader, target, cell));
      } catch (error) {
        out.add(target.name);
        console.log(`  (${target.name} fell over: ${(error as Error).message.slice(0, 400)})`);
        if (target.name === 'lockkeeper') fallen.push(`${bytesName(cell.payload)}, ${cell.concurrency} at once`);
      }
    }
    if (pipe)
      add('stdio pipe', { ...(await pipe.measure({ ...cell, durationMs: DURATION_MS, atLeast: 1 })), cpuUs: null });
  }
  return [...samples].map(([target, list]) => ({ target, sample: middle(list) }));
}

/** Each once, unmeasured, until the compiler is through. */
async function warmUp(loader: Loader, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    for (const concurrency of [1, 32]) {
      // Some ten thousand calls: until then what is measured is the compiler.
      const durationMs = (concurrency === 1 ? 1_000 : 6_000) / (flags.quick ? 2 : 1);
      const wish = { ...target.request, payload: 200, concurrency, durationMs, atLeast: 1 };
      await loader.run(wish).catch((error: Error) => {
        if (target.name === 'lockkeeper') throw error;
      });
    }
  }
}

async function startAll(): Promise<Target[]> {
  const only = flags.only === '' ? null : flags.only.split(',');
  const nodeArgs = flags.node === '' ? undefined : flags.node.split(' ');
  const starts: readonly (readonly [string, () => Promise<Target>])[] = [
    ['echo', startOrigin],
    ['lockkeeper', () => startLockkeeper(nodeArgs, flags.tcp ? 'tcp' : 'socket')],
    ['mcp-proxy', () => startMcpProxy()],
    ['mcp-proxy-each', () => startMcpProxy(32)],
    ['supergateway', startSupergateway],
  ];
  const started: Target[] = [];
  try {
    for (const [name, start] of starts) if (!only || only.includes(name)) started.push(await start());
  } catch (error) {
    await Promise.allSettled(started.map((target) => target.stop()));
    throw error;
  }
  return started;
}

const targets = await startAll();
const loader = startLoader();
const pipe = flags.only === '' ? openPipe() : null;
try {
  await warmUp(loader, targets);
  const measured: { cell: Cell; rows: readonly Row[] }[] = [];
  for (const cell of CELLS) {
    const rows = await measureCell(loader, targets, pipe, cell);
    measured.push({ cell, rows });
    console.log(block(`${bytesName(cell.payload)}, ${cell.concurrency} at once`, rows, 'fastify echo'));
  }
  const ours = targets.find(({ name }) => name === 'lockkeeper') as Measured | undefined;
  const flood =
    ours && !flags['no-flood']
      ? await measureFlood(ours).catch((error: Error) => {
          fallen.push(`256 × 1 MB beside small calls: ${error.message.slice(0, 400)}`);
          return null;
        })
      : null;
  if (flood) {
    console.log(`256 × 1 MB beside small calls: small p50 ${flood.alone.p50.toFixed(2)} ms alone, `);
    console.log(`${flood.beside.p50.toFixed(2)} ms beside (× ${flood.ratio.toFixed(1)}); `);
    console.log(`${flood.large.calls} large calls at ${flood.large.perSecond.toFixed(0)}/s\n`);
  }
  for (const { services } of targets) {
    for (const { name, pid } of services) {
      const { now, peak } = memoryMb(pid);
      console.log(`${name.padEnd(16)} RSS ${String(now).padStart(5)} MB, at most ${String(peak).padStart(5)} MB`);
    }
  }
  const broken = fallen.map((text) => ({ good: false, text: `every call answered: ${text}` }));
  const verdicts = [...judge(measured, flood), ...broken];
  console.log(`\n${verdicts.map(({ good, text }) => `${good ? '✓' : '✗'} ${text}`).join('\n')}`);
  if (flags.check && verdicts.some(({ good }) => !good)) process.exitCode = 1;
} finally {
  loader.close();
  pipe?.close();
  await Promise.allSettled(targets.map((target) => target.stop()));
}
