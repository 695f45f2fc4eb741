// Gateways and pool managers of one host may be joined by unix sockets (design §11): calls pass, nobody else may enter the
// directory, and what a killed node left there is taken out by the next.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

const SERVER = fileURLToPath(new URL('../servers/echo-legacy.mjs', import.meta.url));

let redis: StartedRedis;
let cluster: Cluster;
let home: string;
let socketDir: string;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'lk-one-host-'));
  socketDir = join(home, 'run');
  redis = await startRedis();
  cluster = await startCluster({
    gateways: 1,
    poolManagers: 1,
    redis: redis.url,
    servers: [{ name: 'echo', args: [SERVER] }],
    more: { link: { socketDir, adminPort: 0, secret: 'only for tests, and long enough for one' } },
  });
});

after(async () => {
  await cluster?.stop();
  await redis?.stop();
  rmSync(home, { recursive: true, force: true });
});

const call = async () => {
  const url = cluster.gateways[0]!.route('/acme/echo/mcp');
  return callModern(url, { id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'by path' } } });
};

test('calls pass by a socket that only its owner reaches', async () => {
  assert.match(JSON.stringify(await call()), /by path/);
  assert.equal(readdirSync(socketDir).length, 1);
  assert.equal(statSync(socketDir).mode & 0o777, 0o700);
});

test('the socket of a killed node is taken out by the next one', async () => {
  const [left] = readdirSync(socketDir);
  await cluster.poolManagers[0]!.kill();
  assert.deepEqual(readdirSync(socketDir), [left]);
  await cluster.restart('pool-manager', 0);
  await eventually(async () => /by path/.test(JSON.stringify(await call())), { deadlineMs: 20_000 });
  const files = readdirSync(socketDir);
  assert.equal(files.length, 1);
  assert.notEqual(files[0], left);
});
