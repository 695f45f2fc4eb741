// Design §9 on a node: three questions, numbers whose labels the configuration bounds, processes without persons.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { serverId } from '@lockkeeper/protocol/config/settings';
import { createAdminServer } from '@lockkeeper/state/operator/admin';
import { createMetrics } from '../../src/observe/metrics.ts';
import { lease, server, settled, stage } from '../pool/stage.ts';

const s = stage();
const spec = server({ pool: { max: 1 } });
const link = { gateways: 2, streams: 3, draining: false };
const state = { why: [] as string[], started: true, token: undefined as string | undefined, unfound: 0 };
const metrics = createMetrics({
  servers: () => new Map([[serverId(spec.tenant, spec.name), spec]]),
  pools: () => s.pools.stats(),
  unfound: () => state.unfound,
  link: () => link,
  exchanges: () => 4,
  parked: () => 5,
  tasks: () => 6,
  keys: () => 7,
  processMetrics: false,
});
const admin = createAdminServer({
  registry: metrics.registry,
  notReady: () => state.why,
  started: () => state.started,
  pools: s.pools,
  token: () => state.token,
});
const port = await admin.listen('127.0.0.1', 0);
after(() => admin.close());
const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
const numbers = async () => (await ask('/metrics')).text();

test('liveness, readiness and startup are three answers', async () => {
  state.why = ['the node is draining'];
  state.started = false;
  const closed = await Promise.all(['/livez', '/readyz', '/startupz'].map(ask));
  assert.deepEqual(
    closed.map((one) => one.status),
    [200, 503, 503],
  );
  assert.deepEqual(await closed[1]!.json(), { status: 'not ready', why: ['the node is draining'] });
  state.why = [];
  state.started = true;
  assert.deepEqual([(await ask('/readyz')).status, (await ask('/startupz')).status], [200, 200]);
});

test('a server that nobody could find out about counts as one that is not started for now', async () => {
  assert.match(await numbers(), /^lockkeeper_pool_open_circuits 0$/m);
  state.unfound = 2;
  assert.match(await numbers(), /^lockkeeper_pool_open_circuits 2$/m);
  state.unfound = 0;
});

test('processes and those who wait for one are counted by server', async () => {
  const held = await lease(s, { spec, capabilities: { elicitation: { form: {} } } });
  const waiting = lease(s, { spec, capabilities: { elicitation: { form: {} } } });
  await s.clock.advance(2_500);
  const body = await numbers();
  for (const line of [
    'lockkeeper_pool_children{tenant="acme",server="s",state="busy"} 1',
    'lockkeeper_pool_children{tenant="acme",server="s",state="idle"} 0',
    'lockkeeper_pool_waiting{tenant="acme",server="s"} 1',
    'lockkeeper_pool_oldest_waiter_seconds{tenant="acme",server="s"} 2.5',
    'lockkeeper_pool_starts_total{tenant="acme",server="s"} 1',
    'lockkeeper_link_gateways 2',
    'lockkeeper_parked_exchanges 5',
  ])
    assert.ok(body.includes(`${line}\n`), line);
  const { processes } = (await (await ask('/pools')).json()) as { processes: Record<string, unknown>[] };
  const { tenant, server, era, state, leases, uses } = processes[0]!;
  assert.deepEqual([tenant, server, era, state, leases, uses], ['acme', 's', 'legacy', 'busy', 1, 1]);
  assert.ok(!JSON.stringify(processes).includes('alice'));
  held.release();
  (await waiting).release();
  s.made[0]!.crash();
  await settled();
  assert.ok((await numbers()).includes('lockkeeper_pool_crashes_total{tenant="acme",server="s",reason="exit"} 1\n'));
});

test('what processes use and why they ended is counted by server', async () => {
  s.uses.set(s.made.length, { mb: 40 });
  (await lease(s, { spec })).release();
  await s.clock.advance(4_000);
  let body = await numbers();
  assert.ok(body.includes('lockkeeper_pool_memory_bytes{tenant="acme",server="s"} 41943040\n'));
  assert.ok(body.includes('lockkeeper_pool_spinning{tenant="acme",server="s"} 0\n'));
  s.uses.set(s.made.length - 1, { mb: 5000 });
  await s.clock.advance(2_000);
  body = await numbers();
  assert.ok(body.includes('lockkeeper_pool_ended_total{tenant="acme",server="s",reason="memory"} 1\n'));
});

test('ends of exchanges are counted by server and outcome', async () => {
  metrics.settled({ tenant: 'acme', server: 's', how: 'result', ms: 4 });
  metrics.settled({ tenant: 'acme', server: 's', how: 'lost', ms: 4_000 });
  const body = await numbers();
  assert.ok(body.includes('lockkeeper_dispatch_ended_total{tenant="acme",server="s",outcome="result"} 1\n'));
  assert.ok(body.includes('lockkeeper_dispatch_ended_total{tenant="acme",server="s",outcome="lost"} 1\n'));
  assert.ok(body.includes('lockkeeper_dispatch_duration_seconds_count{tenant="acme",server="s"} 2\n'));
});
