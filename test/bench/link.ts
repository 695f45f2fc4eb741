// What the link alone costs: one gateway end and one node end in two processes over loopback TCP, the node echoing.
// `node test/bench/link.ts [--ms 1500] [--only 200@32]`. CPU is of both processes together, per call.

import { fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import { createLink } from '@lockkeeper/gateway/link/link';
import { createLinkServer } from '@lockkeeper/pool-manager/link/server';
import { systemClock } from '@lockkeeper/state/clock';
import { createProving, randomToken } from '@lockkeeper/state/nodes/proving';
import { echo, request } from '../link/cluster.ts';

const SECRET = 'only for this bench, on loopback';
const CELLS = [
  [200, 1],
  [200, 32],
  [200, 256],
  [1_000_000, 1],
  [1_000_000, 32],
  [1_000_000, 256],
] as const;

interface Usage {
  readonly cpuUs: number;
  readonly rssMb: number;
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, rssMb: Math.round(process.memoryUsage.rss() / 1e6) };
}

async function beNode(): Promise<void> {
  const server = createLinkServer({
    dispatcher: echo(),
    nodeId: 'n1',
    incarnation: () => 'i1',
    proving: createProving(SECRET),
    nonce: randomToken,
    clock: systemClock,
    listen: { host: '127.0.0.1', port: 0 },
    log: () => undefined,
  });
  process.on('message', () => process.send?.(usage()));
  process.on('disconnect', () => process.exit(0));
  process.send?.(await server.start());
}

async function beGateway(ms: number, only: string): Promise<void> {
  const child = fork(import.meta.filename, ['--node'], { execArgv: process.execArgv });
  const reply = <T>() => new Promise<T>((resolve) => child.once('message', (m) => resolve(m as T)));
  const address = await reply<string>();
  const nodeUsage = () => {
    const answer = reply<Usage>();
    child.send('usage');
    return answer;
  };
  const link = createLink({
    nodes: { live: () => [{ id: 'n1', incarnation: 'i1', address, draining: false }], onChange: () => () => undefined },
    self: { id: 'g1', incarnation: 'i1' },
    proving: createProving(SECRET),
    nonce: randomToken,
    random: Math.random,
    clock: systemClock,
    log: () => undefined,
  });
  await link.start();
  for (const [bytes, callers] of CELLS) {
    const name = `${bytes}@${callers}`;
    if (only !== '' && only !== name) continue;
    const body = Buffer.alloc(bytes, 'x');
    const latencies: number[] = [];
    const caller = async (until: number) => {
      do {
        const at = performance.now();
        const { signal } = new AbortController();
        const answer = await link.call(request({ body }), { event: () => undefined }, signal);
        if (answer.kind !== 'result' || answer.body.length !== bytes) throw new Error(JSON.stringify(answer));
        latencies.push(performance.now() - at);
      } while (performance.now() < until);
    };
    const run = (time: number) => {
      const until = performance.now() + time;
      return Promise.all(Array.from({ length: callers }, () => caller(until)));
    };
    await run(ms / 2);
    latencies.length = 0;
    const [here, there, at] = [usage(), await nodeUsage(), performance.now()];
    await run(ms);
    const took = performance.now() - at;
    const [hereNow, thereNow] = [usage(), await nodeUsage()];
    latencies.sort((a, b) => a - b);
    const calls = latencies.length;
    const us = (n: number) => (n / calls).toFixed(1).padStart(8);
    console.log(
      name.padEnd(12),
      `${Math.round((calls / took) * 1000)} calls/s`.padStart(15),
      `p50 ${latencies[calls >> 1]!.toFixed(3)} ms p99 ${latencies[Math.floor(calls * 0.99)]!.toFixed(3)} ms`,
      `CPU us/call gateway${us(hereNow.cpuUs - here.cpuUs)} node${us(thereNow.cpuUs - there.cpuUs)}`,
      `rss MB ${hereNow.rssMb} ${thereNow.rssMb}`,
    );
  }
  await link.close();
  child.disconnect();
}

const { values } = parseArgs({
  options: {
    node: { type: 'boolean', default: false },
    ms: { type: 'string', default: '1500' },
    only: { type: 'string', default: '' },
  },
});
await (values.node ? beNode() : beGateway(Number(values.ms), values.only));
