// A modern server seals its state with a key of its own process. Does the retry find that process again while it lives,
// and another one when it does not (design §5 "Retries … go to the child that answered before, if it lives")?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster, warm } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

type Json = Record<string, unknown>;
type Result = { resultType: string; requestState?: string; inputRequests?: Json; content?: { text: string }[] };

const SERVER = fileURLToPath(new URL('../servers/asks-modern.mjs', import.meta.url));
const CC = 'io.modelcontextprotocol/clientCapabilities';

let redis: StartedRedis;
let cluster: Cluster;

before(async () => {
  redis = await startRedis();
  const pool = (max: number, minWarm = 0) => ({ pool: { max, minWarm } });
  const server = (name: string, isolation: 'exclusive' | 'shared' | 'user', seal: string, more: Json) => ({
    ...{ name, isolation, args: [SERVER], env: { SEAL: seal }, more },
  });
  cluster = await startCluster({
    gateways: 2,
    poolManagers: 3,
    redis: redis.url,
    servers: [
      server('alone', 'exclusive', 'process', pool(8)),
      server('stateless', 'exclusive', 'none', pool(8)),
      server('crowded', 'exclusive', 'shared', pool(1)),
      server('many', 'shared', 'process', pool(2, 2)),
      server('anywhere', 'user', 'shared', pool(4)),
    ],
  });
  for (const name of ['alone', 'stateless', 'crowded', 'many', 'anywhere']) await warm(() => pid(name));
});
after(async () => {
  await cluster?.stop();
  await redis?.stop();
});

async function call(server: string, gateway: number, params: Json) {
  const url = cluster.gateways[gateway]!.route(`/acme/${server}/mcp`);
  const meta = { [CC]: { elicitation: { form: {} } } };
  const { message } = await callModern(url, { method: 'tools/call', params, meta });
  const { result, error } = message as { result?: Result; error?: { code: number; message: string } };
  assert.ok(result, JSON.stringify(error));
  return result;
}

const pid = async (server: string, gateway = 0) =>
  Number((await call(server, gateway, { name: 'pid', arguments: {} })).content?.[0]?.text);

/** The arguments of a retry are those of its call. A shared server may ask nobody, but it may want to be called again. */
const argsOf = (server: string, arg: string) => ({ arg, ...(server === 'many' && { silent: true }) });

async function asks(server: string, arg: string, gateway = 0): Promise<string> {
  const result = await call(server, gateway, { name: 'ask', arguments: argsOf(server, arg) });
  assert.equal(result.resultType, 'input_required', JSON.stringify(result));
  return result.requestState!;
}

/** Who asked and who has heard the answer. */
async function answered(server: string, arg: string, requestState: string, gateway = 1) {
  const inputResponses = { k: { action: 'accept', content: { code: 'ok' } } };
  const answers = server === 'many' ? {} : { inputResponses };
  const result = await call(server, gateway, { name: 'ask', arguments: argsOf(server, arg), requestState, ...answers });
  const found = /^(\d+):(\S+) → (\d+) ok$/.exec(result.content?.[0]?.text ?? '');
  assert.ok(found, JSON.stringify(result));
  assert.equal(found[2], arg);
  return { asker: Number(found[1]), hearer: Number(found[3]) };
}

const alive = (process: number) =>
  cluster.poolManagers.some((node) => descendants(node.pid).some((child) => child.pid === process));

describe('a retry of a modern server’s question', { concurrency: false }, () => {
  it('exclusive: it finds the process that asked, which waited for it alone and ends with it', async () => {
    const states = await Promise.all(['a', 'b', 'c'].map((arg) => asks('alone', arg)));
    const between = await pid('alone');
    const heard = await Promise.all(states.map((state, i) => answered('alone', 'abc'[i]!, state)));
    for (const { asker, hearer } of heard) assert.equal(hearer, asker);
    assert.equal(new Set([between, ...heard.map(({ asker }) => asker)]).size, 4);
    await eventually(() => !heard.some(({ asker }) => alive(asker)), { deadlineMs: 10_000 });
  });

  it('shared: each of several processes is asked for its own', async () => {
    const args = ['p', 'q', 'r', 's', 't', 'u', 'v', 'w'];
    const states = await Promise.all(args.map((arg) => asks('many', arg)));
    const askers = new Set<number>();
    for (const [i, arg] of args.entries()) {
      const { asker, hearer } = await answered('many', arg, states[i]!);
      assert.equal(hearer, asker);
      askers.add(asker);
    }
    assert.equal(askers.size, 2, 'one process had asked everything');
  });

  it('a second retry of an exclusive call goes to another process: the first has ended with its answer', async () => {
    const state = await asks('stateless', 'twice');
    assert.equal((await answered('stateless', 'twice', state)).hearer > 0, true);
    await answered('stateless', 'twice', state);
  });

  it('nobody waits for a place that is kept for somebody who may never come back', async () => {
    const state = await asks('crowded', 'gone');
    const next = await pid('crowded');
    const { asker, hearer } = await answered('crowded', 'gone', state);
    assert.notEqual(asker, next);
    assert.notEqual(hearer, asker);
  });

  it('its node drains, but lives: the retry is served there to the end', async () => {
    const before = new Map(cluster.poolManagers.map(({ pid: node }) => [node, descendants(node).length]));
    const holding = call('alone', 0, { name: 'hold', arguments: { ms: 2_000 } });
    const state = await asks('alone', 'drained');
    // The call that it holds runs in a process of its own, on the same node.
    const node = cluster.poolManagers.find((one) => descendants(one.pid).length > before.get(one.pid)!)!;
    process.kill(node.pid, 'SIGTERM');
    await eventually(() => node.logs().includes('draining'));
    const heard = await answered('alone', 'drained', state);
    assert.equal(heard.hearer, heard.asker);
    await holding;
  });

  it('the node that asked is killed: another goes on', async () => {
    const state = await asks('anywhere', 'killed');
    const asker = await pid('anywhere');
    const victim = cluster.poolManagers.find((node) => descendants(node.pid).some((child) => child.pid === asker))!;
    await victim.kill();
    const heard = await answered('anywhere', 'killed', state);
    assert.equal(heard.asker, asker);
    assert.notEqual(heard.hearer, asker);
  });
});
