// Whose is a task, and who answers for it? Two upstreams that count their ids, two people, two programs, two gateways
// (GB-148), over Redis, with real processes.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { messagesIn } from '../harness/raw-sse.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { ask, call, EXTENSION, ended, get, TAKES_TASKS, textOf, until } from './client.ts';

const FIXTURE = fileURLToPath(new URL('../conformance/fixtures/tasks.ts', import.meta.url));
const PATH = '/acme/both/mcp';

let redis: StartedRedis;
let issuer: Issuer;
let cluster: Cluster;
let alice: { token: string };
let bob: { token: string };
let otherProgram: { token: string };

const at = (gateway: number) => cluster.gateways[gateway]!.route(PATH);

before(async () => {
  redis = await startRedis();
  issuer = createIssuer();
  cluster = await startCluster({
    gateways: 2,
    poolManagers: 1,
    redis: redis.url,
    servers: ['a', 'b'].map((name) => ({ name, args: [FIXTURE] })),
    routes: [{ path: PATH, tenant: 'acme', servers: ['a', 'b'] }],
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: ['a', 'b'].map((server) => ({ server, tools: ['*'], prompts: [], resources: [] })),
      },
    ],
  });
  const tokenOf = (sub: string, client = 'desktop') => ({ token: issuer.token({ sub, client, audience: at(0) }) });
  alice = tokenOf('alice');
  bob = tokenOf('bob');
  otherProgram = tokenOf('alice', 'other-program');
});

after(async () => {
  await cluster?.stop();
  issuer?.close();
  await redis?.stop();
});

const made = async (server: 'a' | 'b', tool: string, args = {}, gateway = 0) => {
  const { result } = await call(at(gateway), `${server}__${tool}`, args, alice);
  assert.equal(result?.resultType, 'task', JSON.stringify(result));
  return result;
};

describe('GB-148: a task handle', () => {
  it('is ours, unguessable, and leads to the right server from every gateway', async () => {
    const [a, b] = await Promise.all([
      made('a', 'confirm_delete', { filename: 'x' }),
      made('b', 'slow_compute', { label: 'of b' }),
    ]);
    for (const { taskId } of [a, b]) {
      assert.match(String(taskId), /^[\w-]{22,}$/);
      assert.doesNotMatch(String(taskId), /^task-/);
    }
    assert.notEqual(a.taskId, b.taskId);
    const asking = await until(at(1), a.taskId, (task) => task.status === 'input_required', alice);
    const questions = Object.values(asking.inputRequests as Record<string, { params: { message: string } }>);
    assert.deepEqual(
      questions.map(({ params }) => params.message),
      ['Server "a" asks: Delete x?'],
    );
    assert.match(String(textOf(await ended(at(1), b.taskId, alice))), /computed of b/);
    await ask(at(0), 'tasks/cancel', { taskId: a.taskId }, alice);
  });

  it('is unknown to everybody else, in the words of one that never was', async () => {
    const { taskId } = await made('a', 'slow_compute', { seconds: 60 });
    const never = await get(at(0), 'never-was', alice);
    assert.equal(never.status, 200);
    assert.equal(never.error?.code, -32602);
    for (const who of [bob, otherProgram]) {
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const said = await ask(at(1), method, { taskId, inputResponses: {} }, who);
        assert.equal(said.error?.code, -32602, method);
        assert.equal(said.error?.message, never.error?.message, method);
      }
    }
    assert.equal((await get(at(1), taskId, alice)).result?.status, 'working');
    await ask(at(0), 'tasks/cancel', { taskId }, alice);
  });

  it('is for clients that declared the extension on this request', async () => {
    const { taskId } = await made('a', 'slow_compute', { seconds: 60 });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, error } = await ask(
        at(0),
        method,
        { taskId, inputResponses: {} },
        { ...alice, capabilities: {} },
      );
      assert.equal(status, 400);
      assert.equal(error?.code, -32021);
      assert.deepEqual(error?.data?.requiredCapabilities, { extensions: { [EXTENSION]: {} } });
    }
    const plain = await call(at(0), 'a__slow_compute', {}, { ...alice, capabilities: {} });
    assert.equal(plain.result?.resultType, 'complete');
    const needs = await call(at(0), 'a__failing_job', {}, { ...alice, capabilities: {} });
    assert.equal(needs.status, 400);
    assert.equal(needs.error?.code, -32021);
    await ask(at(0), 'tasks/cancel', { taskId }, alice);
  });

  it('may be missing in Mcp-Name, but not wrong there', async () => {
    const { taskId } = await made('a', 'slow_compute', {});
    const wrong = await get(at(0), taskId, { ...alice, headers: { 'mcp-name': 'another' } });
    assert.equal(wrong.status, 400);
    assert.equal(wrong.error?.code, -32020);
    assert.equal((await get(at(0), taskId, alice)).status, 200);
    assert.equal((await get(at(0), taskId, { ...alice, headers: { 'mcp-name': String(taskId) } })).status, 200);
  });

  it('is acknowledged when it is cancelled, also when it has ended', async () => {
    const { taskId } = await made('b', 'slow_compute', { seconds: 60 });
    for (const _time of [1, 2]) {
      const { result } = await ask(at(1), 'tasks/cancel', { taskId }, alice);
      assert.equal(result?.resultType, 'complete');
      assert.equal('taskId' in (result ?? {}), false);
      assert.equal((await ended(at(0), taskId, alice)).status, 'cancelled');
    }
  });

  it('feeds a listen that names it, and only its owner’s', async () => {
    const { taskId } = await made('a', 'confirm_delete', { filename: 'heard' });
    const open = (who: { token: string }) =>
      sendRaw(
        at(1),
        modernRequest({
          ...who,
          id: 'listen-1',
          method: 'subscriptions/listen',
          params: { notifications: { taskIds: [taskId, 'never-was'] } },
          meta: { 'io.modelcontextprotocol/clientCapabilities': TAKES_TASKS },
        }),
      );
    const foreign = await open(bob);
    const [unheard] = [await messagesIn(foreign.events()).next()];
    assert.deepEqual((unheard.value as { params: { notifications: unknown } }).params.notifications, {});
    foreign.destroy();
    const stream = await open(alice);
    const messages = messagesIn(stream.events());
    const first = (await messages.next()).value as { method: string; params: Record<string, unknown> };
    assert.equal(first.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(first.params.notifications, { taskIds: [taskId] });
    const states: unknown[] = [];
    for (;;) {
      const { value } = await messages.next();
      const { method, params } = value as { method: string; params: Record<string, unknown> };
      assert.equal(method, 'notifications/tasks');
      assert.equal(params.taskId, taskId);
      states.push(params.status);
      if (params.status === 'input_required') {
        const [key] = Object.keys(params.inputRequests as object);
        const inputResponses = { [String(key)]: { action: 'accept', content: { confirm: true } } };
        await ask(at(0), 'tasks/update', { taskId, inputResponses }, alice);
      }
      if (params.status === 'completed') {
        assert.equal(textOf(params), 'deleted heard');
        break;
      }
    }
    assert.ok(states.includes('input_required'), states.join(' '));
    stream.destroy();
  });

  it('outlives the gateway that gave it out', async () => {
    const { taskId } = await made('a', 'slow_compute', { seconds: 1, label: 'afterwards' }, 0);
    await cluster.gateways[0]!.process.kill();
    assert.match(String(textOf(await ended(at(1), taskId, alice))), /afterwards/);
  });

  it('says plainly that its work was lost with its node', async () => {
    const { taskId } = await made('b', 'slow_compute', { seconds: 60 }, 1);
    await cluster.poolManagers[0]!.kill();
    const task = await ended(at(1), taskId, alice);
    assert.equal(task.status, 'failed');
    assert.equal((task.error as { code: number }).code, 10005);
    assert.match((task.error as { message: string }).message, /lost.*may have run in part/);
  });
});
