// Gateways and pool managers are restarted one after another while people of both eras call and are asked: who of them
// notices (design §4 "draining")? Processes end with their node, but none while somebody uses it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { act, PEACEFUL, type Visit } from './acts.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { type Caller, createLegacy, createModern, type Place } from './callers.ts';
import { number, readMetrics } from './metrics.ts';
import { createRandom, type Random } from './random.ts';
import { type Stage, startStage } from './stage.ts';
import { createTally, type Tally } from './tally.ts';

const SEED = Number(process.env.SOAK_SEED ?? 1);
const SERVERS = ['user-legacy', 'user-modern', 'user-dual', 'shared-legacy', 'shared-modern', 'once-legacy'];
const CALLERS_PER_ERA = 6;
/** Longer than the balancer needs to notice; and longer than any call here takes. */
const LIMITS = { drainLeadMs: 2_000, drainMs: 10_000, drainHumanMs: 10_000, sessionIdleMs: 60_000 };

let stage: Stage;
let balancer: Balancer;

before(async () => {
  stage = await startStage({ servers: SERVERS, limits: LIMITS });
  balancer = startBalancer(stage);
});

after(async () => {
  await balancer?.close();
  await stage?.stop();
});

/** One person, one client, one server, from the beginning to the end. */
async function steady(index: number, era: 'legacy' | 'modern', random: Random, tally: Tally, over: AbortSignal) {
  const server = stage.servers[index % stage.servers.length]!;
  const people = stage.people.filter(({ tenant }) => tenant === server.tenant);
  const url = () => stage.url(balancer.pick(random), server);
  // One that may be asked.
  const place: Place = { person: people[index]!, random, url, revision: '2025-11-25' };
  const caller: Caller | null = era === 'modern' ? createModern(place) : (await createLegacy(place)).caller;
  assert.ok(caller, `no session at ${server.name}`);
  let words = 0;
  const visit: Visit = {
    ...{ caller, server, random, tally },
    secret: () => `secret-of-${place.person.name}-${era}-${words++}`,
  };
  // Shared servers may not ask.
  const acts = server.isolation === 'shared' ? PEACEFUL.slice(0, -1) : PEACEFUL;
  while (!over.aborted) await act(visit, acts);
}

async function roll(): Promise<void> {
  for (const index of stage.gateways.keys()) {
    await stage.restart('gateway', index);
    await eventually(() => balancer.takes.has(index), { deadlineMs: 20_000 });
  }
  for (const index of stage.nodes.keys()) {
    await stage.restart('pool-manager', index);
    const linked = async () => number(await readMetrics(stage.nodes[index]!), 'lockkeeper_link_gateways');
    await eventually(async () => (await linked()) === stage.gateways.length, { deadlineMs: 20_000, everyMs: 100 });
  }
}

test('nobody notices: no call of either era fails, no legacy session is lost', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = createRandom(SEED);
  const tallies = { legacy: createTally(), modern: createTally() };
  const over = new AbortController();
  const callers = (['legacy', 'modern'] as const).flatMap((era) =>
    Array.from({ length: CALLERS_PER_ERA }, (_none, index) =>
      steady(index, era, random.fork(`${era} ${index}`), tallies[era], over.signal),
    ),
  );
  try {
    await roll();
  } finally {
    over.abort();
    await Promise.all(callers);
  }
  for (const [era, tally] of Object.entries(tallies)) {
    t.diagnostic(`${era}: ${tally.calls} calls while 2 gateways and 2 pool managers were restarted`);
    for (const line of tally.table().split('\n')) t.diagnostic(`${era}: ${line}`);
    assert.deepEqual(tally.wrong, []);
    assert.deepEqual(
      tally.endings.filter((ended) => ended !== 'ok' && ended !== 'asks'),
      [],
    );
    assert.ok(tally.calls > 100, String(tally.calls));
  }
});
