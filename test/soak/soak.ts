// The whole of it: start, warm up, let the crowd in, let it go, look at what is left. Gives what it found in words; an
// empty `faults` is the good end. How long, how many and by which seed is said by whoever runs it.

import { eventually } from '../harness/eventually.ts';
import { crowd } from './crowd.ts';
import { number, readMetrics } from './metrics.ts';
import { createRandom } from './random.ts';
import { descriptors, filesLeft, goingOn, type Keys, keysLeft, moreThan, processesLeft } from './remains.ts';
import { PROCESSES_PER_NODE, type Stage, startStage } from './stage.ts';
import { createTally, type Tally } from './tally.ts';
import { type Slope, type Watched, watch } from './watch.ts';

export interface SoakWish {
  readonly seed: number;
  readonly loadMs: number;
  readonly warmUpMs: number;
  readonly crowd: number;
  readonly say: (words: string) => void;
}

export interface SoakReport {
  readonly faults: readonly string[];
}

/** Generous: a slope of a minute is mostly chance; an hour's is held to less. */
const heldMbPerMinute = (loadMs: number): number => (loadMs > 600_000 ? 1 : 40);
/** A client whose stream broke at the very end may come back for so long. */
const SESSION_KEY_MS = 6 * 60_000;
const QUIET_MS = 35_000;
/** A leak of one descriptor a call is hundreds. */
const SPARE_DESCRIPTORS = 2;

export async function soak(wish: SoakWish): Promise<SoakReport> {
  wish.say(`seed ${wish.seed}, ${wish.loadMs / 1000} s, ${wish.crowd} at once`);
  const stage = await startStage();
  try {
    const tally = createTally();
    const faults = await run(wish, stage, tally);
    wish.say(tally.table());
    return { faults: [...tally.wrong, ...faults] };
  } finally {
    await stage.stop();
  }
}

async function run(wish: SoakWish, stage: Stage, tally: Tally): Promise<string[]> {
  const random = createRandom(wish.seed);
  const until = (ms: number) => performance.now() + ms;
  // Connections, code and caches are there afterwards; what was said in it counts as well.
  await crowd({ stage, tally, random: random.fork('warm-up'), size: wish.crowd, untilMs: until(wish.warmUpMs) });
  const quietBefore = await quiet(stage);
  const services = [...stage.gateways, ...stage.nodes];
  const before = new Map(services.map(({ pid }) => [pid, descriptors(pid)]));
  const watching = watch(stage, wish.loadMs / 4);
  await crowd({ stage, tally, random: random.fork('crowd'), size: wish.crowd, untilMs: until(wish.loadMs) });
  const watched = await watching.stop();
  const quietAfter = await quiet(stage);
  const { lines, evictions } = await counters(stage);
  const open = services.flatMap(({ name, pid }) => {
    const more = moreThan(before.get(pid)!, descriptors(pid));
    const sum = (kinds: ReadonlyMap<string, number>) => [...kinds.values()].reduce((a, b) => a + b, 0);
    const count = sum(descriptors(pid)) - sum(before.get(pid)!);
    return count > SPARE_DESCRIPTORS ? [`${name} keeps descriptors: ${more.join(', ')}`] : [];
  });
  const files = filesLeft(stage).map((name) => `a file is left: ${name}`);
  await stage.stopServices();
  const keys = await keysLeft(stage);
  wish.say([...lines, ...said(watched, tally), `keys left: ${kindsOf(keys)}`].join('\n'));
  return [
    ...[...quietBefore, ...quietAfter].map((what) => `goes on still: ${what}`),
    ...open,
    ...files,
    ...processesLeft(stage).map((what) => `a process is left: ${what}`),
    ...keys.forEver.map((key) => `a key without a time to live: ${key}`),
    ...(keys.kinds.has('lease') ? [`leases of nodes that are gone: ${keys.kinds.get('lease')?.count}`] : []),
    ...outlasting(keys),
    ...(watched.mostProcesses > PROCESSES_PER_NODE ? [`${watched.mostProcesses} processes on a node`] : []),
    ...watched.slopes.flatMap((slope) => tooSteep(slope, wish.loadMs)),
    ...(evictions === 0 ? ['nobody ever had to make room: too little was going on'] : []),
    ...(tally.share('echo', 'ok') < 0.8 ? ['a plain call fails too often to mean anything'] : []),
  ];
}

/** Waits for everything to end by itself; what does not is told. */
async function quiet(stage: Stage): Promise<string[]> {
  let left: string[] = [];
  try {
    await eventually(
      async () => {
        left = [...(await goingOn(stage)), ...processesLeft(stage).map((one) => `process ${one}`)];
        return left.length === 0;
      },
      { deadlineMs: QUIET_MS, everyMs: 250 },
    );
    return [];
  } catch {
    return left;
  }
}

/** Why processes of ours came to an end: what was ended for a reason, and what ended by itself. */
const REASONS = /lockkeeper_pool_(ended|crashes)_total\{.*reason="([^"]+)"\} (\d+)/g;

async function counters(stage: Stage): Promise<{ readonly lines: string[]; readonly evictions: number }> {
  const lines: string[] = [];
  let evictions = 0;
  for (const node of stage.nodes) {
    const metrics = await readMetrics(node);
    const ends = new Map<string, number>();
    for (const [, , reason = '', count] of metrics.matchAll(REASONS))
      ends.set(reason, (ends.get(reason) ?? 0) + Number(count));
    const cells = [...ends].map(([reason, count]) => `${reason} ${count}`);
    lines.push(`${node.name}: starts ${number(metrics, 'lockkeeper_pool_starts_total')}, ended: ${cells.join(', ')}`);
    evictions += ends.get('room') ?? 0;
  }
  return { lines, evictions };
}

function said({ slopes, mostProcesses, oldestWaiterSeconds }: Watched, tally: Tally): string[] {
  const figure = (value: number) => value.toFixed(1);
  return [
    `${tally.calls} calls; at most ${mostProcesses} processes on a node; oldest waiter ${figure(oldestWaiterSeconds)} s`,
    ...slopes.map(
      (one) =>
        `${one.service}: held ${figure(one.heldMb)} MB, ${figure(one.heldMbPerMinute)} MB a minute; ` +
        `RSS ${figure(one.rssMb)} MB, ${figure(one.rssMbPerMinute)} MB a minute`,
    ),
  ];
}

function tooSteep({ service, heldMbPerMinute: slope }: Slope, loadMs: number): string[] {
  const most = heldMbPerMinute(loadMs);
  return slope > most ? [`${service} grows by ${slope.toFixed(1)} MB a minute (at most ${most})`] : [];
}

function kindsOf({ kinds }: Keys): string {
  const words = [...kinds].map(
    ([kind, { count, longestMs }]) => `${kind} ${count} (${Math.ceil(longestMs / 1_000)} s)`,
  );
  return words.join(', ');
}

/** All sessions are over by now. */
function outlasting({ kinds }: Keys): string[] {
  const ofSessions = [...kinds].filter(
    ([kind, { longestMs }]) => kind.startsWith('sess:') && longestMs > SESSION_KEY_MS,
  );
  return ofSessions.map(([kind, { longestMs }]) => `${kind} stays ${longestMs} ms longer than its session`);
}
