// What questions and listens cost, as figures and ratios: the way of a question and of its answer beside a plain call's
// of the same server in the same run, and the memory that a parked exchange and an idle listen hold.
//
//   node ops/dev/run.mjs test/bench/questions.ts [--quick] [--many]

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { within } from '../harness/eventually.ts';
import type { Running } from '../harness/process.ts';
import { openStage, type Stage } from './asking.ts';
import type { ListenWish } from './listeners.ts';
import { type Held, heldBy } from './memory.ts';
import { median } from './table.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, many: { type: 'boolean', default: false } },
});

const SAMPLES = flags.quick ? 10 : 40;
const PARKED = flags.many ? 1_000 : flags.quick ? 100 : 200;
const LISTENS = flags.many ? 10_000 : flags.quick ? 200 : 1_000;
/** A person and program may have 64 at one replica. */
const LISTENS_EACH = 50;
/** Calls of one person are asked about one after the other, so some people share the work. */
const PEOPLE = ['p1', 'p2', 'p3', 'p4'];
const KIB = 1024;

type Times = Map<string, number[]>;

function p90(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.9)] ?? Number.NaN;
}

function addTo(times: Times, name: string, value: number): void {
  times.set(name, [...(times.get(name) ?? []), value]);
}

async function oneRound(stage: Stage, times: Times): Promise<void> {
  for (const [where, gateway] of [
    ['same', 0],
    ['another', 1],
  ] as const) {
    const { there, back } = await stage.plain('timed', gateway);
    addTo(times, 'plain call, there and back', there + back);
    addTo(times, 'plain call, there', there);
    addTo(times, 'plain call, back', back);
    const parked = await stage.ask('timed');
    addTo(times, 'question to input_required', parked.shownMs);
    addTo(times, `retry to answer, ${where} gateway`, await stage.answer('timed', parked, gateway));
  }
}

async function measureTimes(stage: Stage): Promise<void> {
  for (let i = 0; i < SAMPLES / 2; i += 1) await oneRound(stage, new Map());
  const times: Times = new Map();
  for (let i = 0; i < SAMPLES; i += 1) await oneRound(stage, times);
  const round = median(times.get('plain call, there and back')!);
  const one = (name: string) => median(times.get(name)!);
  console.log(`${'ms'.padEnd(34)}${'median'.padStart(8)}${'p90'.padStart(8)}${'× plain'.padStart(9)}  samples`);
  for (const [name, values] of times) {
    const figures = [median(values).toFixed(2).padStart(8), p90(values).toFixed(2).padStart(8)].join('');
    console.log(`${name.padEnd(34)}${figures}${(median(values) / round).toFixed(2).padStart(9)}  ${values.length}`);
  }
  const same = one('retry to answer, same gateway');
  console.log(`another gateway / same gateway: ${(one('retry to answer, another gateway') / same).toFixed(2)}`);
  console.log(`retry to the same gateway / a plain call there: ${(same / one('plain call, there')).toFixed(2)}`);
}

interface Service {
  readonly name: string;
  readonly running: Running;
}

async function weigh(services: readonly Service[]): Promise<Held[]> {
  return Promise.all(services.map(({ running }) => heldBy(running)));
}

function printMemory(what: string, n: number, services: readonly Service[], before: Held[], after: Held[]): void {
  for (const [index, { name }] of services.entries()) {
    const [from, to] = [before[index]!, after[index]!];
    const each = (pick: (held: Held) => number) => ((pick(to) - pick(from)) / n / KIB).toFixed(1);
    const mb = ({ rss }: Held) => (rss / KIB / KIB).toFixed(0);
    const held = `${each(({ heap }) => heap)} KB each held, ${each(({ rss }) => rss)} KB each of RSS`;
    console.log(`${n} ${what}, ${name}: ${held} (${mb(from)} → ${mb(to)} MB)`);
  }
}

async function inTurns(n: number, one: (who: string) => Promise<unknown>): Promise<void> {
  let left = n;
  const lane = async (who: string) => {
    while (left > 0) {
      left -= 1;
      await one(who);
    }
  };
  await Promise.all(PEOPLE.map(lane));
}

async function measureParked(stage: Stage, services: readonly Service[]): Promise<void> {
  // Processes started, code compiled.
  await inTurns(200, (who) => stage.plain(who, 0));
  await inTurns(40, (who) => stage.ask(who));
  const before = await weigh(services);
  await inTurns(PARKED, (who) => stage.plain(who, 0));
  // What such a number of calls leaves behind that waits for nobody: no figure below it means anything.
  const between = await weigh(services);
  printMemory('answered plain calls', PARKED, services, before, between);
  await inTurns(PARKED, (who) => stage.ask(who));
  printMemory('parked exchanges', PARKED, services, between, await weigh(services));
}

function startListeners() {
  const child = fork(fileURLToPath(new URL('./listeners.ts', import.meta.url)));
  return {
    async open(wish: ListenWish): Promise<void> {
      const answered = once(child, 'message');
      child.send(wish);
      const [answer] = (await within(answered, 60_000, `${wish.count} listens`)) as [{ failed?: string }];
      if (answer.failed !== undefined) throw new Error(answer.failed);
    },
    close: () => child.kill('SIGKILL'),
  };
}

async function measureListens(stage: Stage, services: readonly Service[]): Promise<void> {
  const url = stage.cluster.gateways[0]!.route('/acme/tells/mcp');
  const people = (prefix: string, count: number) =>
    Array.from({ length: Math.ceil(count / LISTENS_EACH) }, (_none, i) => stage.token('tells', `${prefix}${i}`));
  const listeners = startListeners();
  try {
    await listeners.open({ url, count: 100, tokens: people('first', 100) });
    const before = await weigh(services);
    await listeners.open({ url, count: LISTENS, tokens: people('then', LISTENS) });
    printMemory('idle listens', LISTENS, services, before, await weigh(services));
  } finally {
    listeners.close();
  }
}

const stage = await openStage();
try {
  const services: readonly Service[] = [
    { name: 'gateway', running: stage.cluster.gateways[0]!.process },
    { name: 'pool manager', running: stage.cluster.poolManagers[0]! },
  ];
  await measureTimes(stage);
  await measureParked(stage, services);
  await measureListens(stage, services);
} finally {
  await stage.stop();
}
