// What pools cost and save, each figure beside its floor in the same run: a warm checkout, a cold start beside a bare
// `spawn` and `initialize`, a shared pool beside one bare process, calls a second and core, and what a person holds
// whose process has been reaped.
//
//   node ops/dev/run.mjs test/bench/pool.ts [--quick] [--many]

import { parseArgs } from 'node:util';
import { eventually } from '../harness/eventually.ts';
import { cpuMs } from '../harness/process-tree.ts';
import { measureCheckout } from './checkout.ts';
import { measureColdStart } from './cold-start.ts';
import { startLoader } from './loader.ts';
import { type Held, heldBy } from './memory.ts';
import { openPipe } from './pipe.ts';
import { openPoolStage, type PoolStage } from './pool-stage.ts';
import { median } from './table.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, many: { type: 'boolean', default: false } },
});

const CHECKOUTS = flags.quick ? 20_000 : 200_000;
const COLD = flags.quick ? 5 : 25;
const ROUNDS = flags.quick ? 1 : 5;
const IDLE = flags.many ? 3_000 : flags.quick ? 100 : 1_000;
const DURATION_MS = flags.quick ? 1_000 : 2_000;
const TOGETHER = 6;
const KIB = 1024;
/** Until then what is measured is the compiler. */
const WARM_MS = flags.quick ? 2_000 : 8_000;

async function checkouts(): Promise<void> {
  for (const { name, microseconds } of await measureCheckout(CHECKOUTS))
    console.log(`checkout and return, ${name}: ${microseconds.toFixed(2)} µs`);
}

async function coldStarts(stage: PoolStage): Promise<void> {
  const call = (who: string) => stage.call('kept', who);
  await measureColdStart(stage.program, 2, (who) => call(`first ${who}`));
  const { bare, ours, warm } = await measureColdStart(stage.program, COLD, call);
  const over = ours - bare;
  console.log(
    `cold start to first answer: bare ${bare.toFixed(1)} ms, ours ${ours.toFixed(1)} ms (× ${(ours / bare).toFixed(2)}), ` +
      `of which a warm call is ${warm.toFixed(1)} ms: over it ${(over - warm).toFixed(1)} ms`,
  );
}

async function throughput(stage: PoolStage): Promise<void> {
  const loader = startLoader();
  const pipe = openPipe();
  const pids = [stage.cluster.gateways[0]!.process.pid, stage.cluster.poolManagers[0]!.pid];
  try {
    const wish = { ...stage.request('shared'), payload: 200, atLeast: 1 };
    await loader.run({ ...wish, concurrency: 32, durationMs: WARM_MS });
    for (const concurrency of [1, 32]) {
      const rounds: { ours: number; bare: number; perCore: number }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = pids.map(cpuMs);
        const ours = await loader.run({ ...wish, concurrency, durationMs: DURATION_MS });
        const spent = pids.reduce((sum, pid, i) => sum + cpuMs(pid) - before[i]!, 0);
        const bare = await pipe.measure({ payload: 200, concurrency, durationMs: DURATION_MS, atLeast: 1 });
        rounds.push({ ours: ours.perSecond, bare: bare.perSecond, perCore: (ours.calls * 1_000) / spent });
      }
      const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
      const ratio = of(({ ours, bare }) => ours / bare);
      console.log(
        `shared pool, 200 B, ${concurrency} at once: ${of((r) => r.ours).toFixed(0)} calls/s, one bare process ` +
          `${of((r) => r.bare).toFixed(0)}/s (ratio ${ratio.toFixed(3)}); ` +
          `${of((r) => r.perCore).toFixed(0)} calls a second and core of gateway and pool manager`,
      );
    }
  } finally {
    loader.close();
    pipe.close();
  }
}

interface Weight {
  readonly held: readonly Held[];
  readonly redis: number;
}

async function weigh(stage: PoolStage): Promise<Weight> {
  const services = [stage.cluster.gateways[0]!.process, stage.cluster.poolManagers[0]!];
  return { held: await Promise.all(services.map(heldBy)), redis: await stage.redisBytes() };
}

async function everyone(count: number, one: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: TOGETHER }, lane));
}

/** So long what nobody uses may be remembered (gateway forget.ts), and a little. */
const RESTS_MS = 125_000;

async function idlePeople(stage: PoolStage, what: string, one: (who: string) => Promise<void>): Promise<void> {
  const rested = async () => {
    await reaped(stage);
    await new Promise((over) => setTimeout(over, RESTS_MS));
  };
  // As many, so that what the compiler and the tables keep once and for all is there already.
  await everyone(IDLE, (i) => one(`${what} before ${i}`));
  await rested();
  const before = await weigh(stage);
  await everyone(IDLE, (i) => one(`${what} ${i}`));
  await rested();
  const after = await weigh(stage);
  const each = (from: number, to: number) => `${((to - from) / IDLE / KIB).toFixed(2)} KB`;
  const [gateway, node] = [0, 1].map((i) => each(before.held[i]!.heap, after.held[i]!.heap));
  console.log(
    `${IDLE} idle people, ${what}, processes reaped: each holds ${gateway} in the gateway, ${node} in the pool manager, ` +
      `${each(before.redis, after.redis)} in Redis`,
  );
}

async function reaped(stage: PoolStage): Promise<void> {
  await eventually(async () => (await stage.processes()) === 0, { deadlineMs: 30_000, everyMs: 200 });
}

await checkouts();
const stage = await openPoolStage();
try {
  // First, since the logs of a flood of calls push out where the inspectors listen.
  await idlePeople(stage, 'modern', (who) => stage.call('reaped', who));
  await idlePeople(stage, 'with a legacy session', (who) => stage.session('reaped', who));
  await coldStarts(stage);
  await throughput(stage);
} finally {
  await stage.stop();
}
