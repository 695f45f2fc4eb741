// Design §9: every process has its own operator's port; in one process there is one, and it tells of both halves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startCluster, startStandalone } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { startRedis } from '../harness/redis.ts';

const servers = [{ name: 'echo', args: [fileURLToPath(new URL('../servers/echo-legacy.mjs', import.meta.url))] }];
const CALL = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'a' } } };
const ENDED = 'lockkeeper_dispatch_ended_total{tenant="acme",server="echo",outcome="result"} ';
const CHILD = 'lockkeeper_pool_children{tenant="acme",server="echo",state="idle"} 1';

const statusOf = async (base: string, path: string) => (await fetch(`${base}${path}`)).status;

test('a pool manager is ready, tells of its processes, and serves no MCP there', async () => {
  const redis = await startRedis();
  const cluster = await startCluster({ servers, gateways: 1, poolManagers: 1, redis: redis.url });
  try {
    const admin = String(cluster.poolManagers[0]!.ready.admin);
    await callModern(cluster.gateways[0]!.route('/acme/echo/mcp'), CALL);
    for (const path of ['/livez', '/readyz', '/startupz']) assert.equal(await statusOf(admin, path), 200, path);
    assert.equal(await statusOf(admin, '/acme/echo/mcp'), 404);
    const body = await (await fetch(`${admin}/metrics`)).text();
    assert.ok(body.includes(CHILD) && body.includes(ENDED), body);
    const { processes } = (await (await fetch(`${admin}/pools`)).json()) as { processes: { pid: number }[] };
    assert.ok(processes.length === 1 && processes[0]!.pid > 1);
  } finally {
    await cluster.stop();
    await redis.stop();
  }
});

test('standalone has one port for both', async () => {
  const one = await startStandalone({ servers });
  try {
    await callModern(one.route('/acme/echo/mcp'), CALL);
    const body = await (await fetch(`${one.admin}/metrics`)).text();
    for (const part of [CHILD, ENDED, 'lockkeeper_exchange_ended_total{', 'lockkeeper_process_cpu_seconds_total'])
      assert.ok(body.includes(part), part);
    assert.equal(body.split('# TYPE lockkeeper_process_cpu_seconds_total').length, 2);
  } finally {
    await one.stop();
  }
});
