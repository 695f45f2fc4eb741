// Does a call outlive its client? Plain calls of legacy servers that take long, or ask too often, become tasks (design §4
// amendment 9, ruling 10), and tasks of 2025-11-25 become tasks of today, over two gateways and Redis.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callLegacy, openLegacySession } from '../harness/messages.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { ask, call, EXTENSION, ended, get, textOf, until } from './client.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-tasks-'));
const COUNTER = join(folder, 'counter');

let redis: StartedRedis;
let cluster: Cluster;
const url = (gateway: number, server: string) => cluster.gateways[gateway]!.route(`/acme/${server}/mcp`);

before(async () => {
  redis = await startRedis();
  cluster = await startCluster({
    gateways: 2,
    poolManagers: 1,
    redis: redis.url,
    servers: [
      { name: 'plain', args: [at('../conformance/fixtures/tasks-plain.ts')] },
      { name: 'old', args: [at('../conformance/fixtures/tasks-legacy.ts')] },
      {
        name: 'often',
        args: [at('./servers/asks-often.mjs')],
        env: { COUNTER },
        more: { promoteAfterMs: 60_000 },
      },
    ],
    limits: { promoteAfterMs: 150 },
  });
});

after(async () => {
  await cluster?.stop();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Json = Record<string, unknown>;
const LACKING = { extensions: { [EXTENSION]: {} } };
const accepted = (requests: unknown, content: Json) =>
  Object.fromEntries(Object.keys(requests as Json).map((key) => [key, { action: 'accept', content }]));

describe('a long call', () => {
  it('is answered as a call while it is short', async () => {
    const { result } = await call(url(0, 'plain'), 'greet', { name: 'Ada' });
    assert.equal(result?.resultType, 'complete');
  });

  it('stays a call for a client that takes no tasks', async () => {
    const { result } = await call(url(0, 'plain'), 'slow_compute', { seconds: 0.4, label: 'x' }, { capabilities: {} });
    assert.equal(result?.resultType, 'complete');
  });

  it('becomes a task that its owner collects from another gateway', async () => {
    const { result } = await call(url(0, 'plain'), 'slow_compute', { seconds: 0.6, label: 'promoted' });
    assert.equal(result?.resultType, 'task');
    assert.equal(result.status, 'working');
    assert.equal((await get(url(1, 'plain'), result.taskId)).result?.status, 'working');
    assert.equal(textOf(await ended(url(1, 'plain'), result.taskId)), 'computed promoted');
  });

  it('says an error of JSON-RPC as one, and a tool’s error as a result', async () => {
    const broken = await call(url(0, 'plain'), 'protocol_error_job', {});
    const failed = await ended(url(0, 'plain'), broken.result?.taskId);
    assert.equal(failed.status, 'failed');
    assert.match((failed.error as { message: string }).message, /broke the protocol/);
    const wrong = await call(url(0, 'plain'), 'failing_job', {});
    const completed = await ended(url(0, 'plain'), wrong.result?.taskId);
    assert.equal(completed.status, 'completed');
    assert.equal((completed.result as Json).isError, true);
  });

  it('asks by its task, under keys that are never used twice, and takes answers one by one', async () => {
    const { result } = await call(url(0, 'plain'), 'multi_input', {});
    const taskId = result?.taskId;
    const both = await until(
      url(1, 'plain'),
      taskId,
      (task) => Object.keys((task.inputRequests ?? {}) as Json).length === 2,
    );
    const [first, second] = Object.keys(both.inputRequests as Json) as [string, string];
    const answer = (key: string) => ({ [key]: { action: 'accept', content: {} } });
    await ask(url(1, 'plain'), 'tasks/update', { taskId, inputResponses: answer(first) });
    const one = (await get(url(0, 'plain'), taskId)).result;
    assert.equal(one?.status, 'input_required');
    assert.deepEqual(Object.keys(one.inputRequests as Json), [second]);
    // Answered already, and never asked: neither does anything.
    await ask(url(0, 'plain'), 'tasks/update', { taskId, inputResponses: { ...answer(first), ...answer('made-up') } });
    assert.equal((await get(url(0, 'plain'), taskId)).result?.status, 'input_required');
    await ask(url(0, 'plain'), 'tasks/update', { taskId, inputResponses: answer(second) });
    assert.equal(textOf(await ended(url(1, 'plain'), taskId)), 'accept accept');
  });

  it('shows a rejected answer’s question again, under another key', async () => {
    const { result } = await call(url(0, 'plain'), 'confirm_delete', { filename: 'f' });
    const taskId = result?.taskId;
    const asking = await until(url(0, 'plain'), taskId, (task) => task.status === 'input_required');
    const [key] = Object.keys(asking.inputRequests as Json);
    const bad = { [String(key)]: { action: 'accept', content: { confirm: 'not a boolean' } } };
    await ask(url(1, 'plain'), 'tasks/update', { taskId, inputResponses: bad });
    const again = await until(url(0, 'plain'), taskId, (task) => {
      const keys = Object.keys((task.inputRequests ?? {}) as Json);
      return keys.length === 1 && keys[0] !== key;
    });
    const good = accepted(again.inputRequests, { confirm: true });
    await ask(url(1, 'plain'), 'tasks/update', { taskId, inputResponses: good });
    assert.equal(textOf(await ended(url(0, 'plain'), taskId)), 'deleted f');
  });

  it('is the same task for every seal of its exchange', async () => {
    const params = { name: 'test_tool_with_task', arguments: {} };
    const asking = (await ask(url(0, 'plain'), 'tools/call', params)).result;
    assert.equal(asking?.resultType, 'input_required');
    const { requestState } = asking;
    const retry = { ...params, requestState, inputResponses: accepted(asking.inputRequests, { name: 'Eve' }) };
    const made = (await ask(url(1, 'plain'), 'tools/call', retry)).result;
    assert.equal(made?.resultType, 'task');
    assert.equal('requestState' in made, false);
    const again = (await ask(url(0, 'plain'), 'tools/call', retry)).result;
    assert.equal(again?.taskId, made.taskId);
    assert.equal(textOf(await ended(url(0, 'plain'), made.taskId)), 'Hello, Eve!');
    const late = (await ask(url(1, 'plain'), 'tools/call', retry)).result;
    assert.equal(late?.taskId, made.taskId);
    // Who takes no tasks any more is not told of a server that broke something.
    const without = await ask(url(1, 'plain'), 'tools/call', retry, { capabilities: { elicitation: { form: {} } } });
    assert.equal(without.status, 400, JSON.stringify(without.result));
    assert.deepEqual([without.error?.code, without.error?.data?.requiredCapabilities], [-32021, LACKING]);
  });

  it('is cancelled for good: a late result is nobody’s', async () => {
    const { result } = await call(url(0, 'plain'), 'slow_compute', { seconds: 60 });
    const taskId = result?.taskId;
    await ask(url(1, 'plain'), 'tasks/cancel', { taskId });
    assert.equal((await get(url(0, 'plain'), taskId)).result?.status, 'cancelled');
    await ask(url(0, 'plain'), 'tasks/cancel', { taskId });
    assert.equal((await get(url(1, 'plain'), taskId)).result?.status, 'cancelled');
  });

  it('becomes a task after six rounds of questions, and has run once', async () => {
    const params = { name: 'ask', arguments: { times: 8 } };
    const first = await ask(url(0, 'often'), 'tools/call', params);
    let said = first.result;
    for (let round = 1; said?.resultType === 'input_required'; round++) {
      assert.ok(round <= 6, `round ${round} is still asked by the call`);
      const { requestState, inputRequests } = said;
      const retry = { ...params, requestState, inputResponses: accepted(inputRequests, { answer: `a${round}` }) };
      const next = await ask(url(round % 2, 'often'), 'tools/call', retry);
      assert.equal(next.error, undefined, `round ${round}: ${JSON.stringify(next.error)}`);
      said = next.result;
    }
    assert.equal(said?.resultType, 'task');
    const taskId = said.taskId;
    const keys = new Set<string>();
    for (const n of [7, 8]) {
      const asking = await until(url(n % 2, 'often'), taskId, (task) => {
        const open = Object.keys((task.inputRequests ?? {}) as Json);
        return open.length === 1 && !keys.has(open[0]!);
      });
      keys.add(Object.keys(asking.inputRequests as Json)[0]!);
      const inputResponses = accepted(asking.inputRequests, { answer: `a${n}` });
      await ask(url(1, 'often'), 'tasks/update', { taskId, inputResponses });
    }
    assert.equal(textOf(await ended(url(0, 'often'), taskId)), 'a1 a2 a3 a4 a5 a6 a7 a8');
    assert.equal(readFileSync(COUNTER, 'utf8'), 'ran\n');
  });
});

describe('a task of 2025-11-25', () => {
  it('is a task of today for who takes them', async () => {
    const { result } = await call(url(0, 'old'), 'confirm_delete', { filename: 'old' });
    assert.equal(result?.resultType, 'task');
    assert.equal('ttl' in result, false);
    const asking = await until(url(1, 'old'), result.taskId, (task) => task.status === 'input_required');
    const inputResponses = accepted(asking.inputRequests, { confirm: true });
    await ask(url(1, 'old'), 'tasks/update', { taskId: result.taskId, inputResponses });
    const task = await ended(url(0, 'old'), result.taskId);
    assert.equal(textOf(task), 'deleted old');
    assert.equal('_meta' in (task.result as Json), false);
  });

  it('is refused before anything ran where it must be one and the client takes none', async () => {
    const { status, error } = await call(url(0, 'old'), 'failing_job', {}, { capabilities: {} });
    assert.equal(status, 400);
    assert.equal(error?.code, -32021);
  });

  it('is an ordinary call for a legacy client', async () => {
    const { session } = await openLegacySession(url(0, 'old'), {});
    const { message } = await callLegacy(url(1, 'old'), {
      ...(session === null ? {} : { session }),
      revision: '2025-11-25',
      message: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'failing_job', arguments: {} } },
    });
    const result = message?.result as { content: { text: string }[]; isError: boolean };
    assert.equal(result.content[0]?.text, 'the job went wrong');
    assert.equal(result.isError, true);
  });

  it('ends for good when it is cancelled', async () => {
    const { result } = await call(url(0, 'old'), 'slow_compute', { seconds: 60 });
    await ask(url(1, 'old'), 'tasks/cancel', { taskId: result?.taskId });
    assert.equal((await ended(url(0, 'old'), result?.taskId)).status, 'cancelled');
  });
});

describe('when its gateway, then its node is killed', () => {
  it('the call goes on, and what has ended is still there', async () => {
    const [long, short] = await Promise.all([
      call(url(0, 'plain'), 'slow_compute', { seconds: 1.5, label: 'long' }),
      call(url(0, 'plain'), 'slow_compute', { seconds: 0.3, label: 'short' }),
    ]);
    await cluster.gateways[0]!.process.kill();
    const id = { long: long.result?.taskId, short: short.result?.taskId };
    assert.equal(textOf(await ended(url(1, 'plain'), id.long)), 'computed long');
    assert.equal(textOf(await ended(url(1, 'plain'), id.short)), 'computed short');
    const open = await call(url(1, 'plain'), 'slow_compute', { seconds: 60 });
    await cluster.poolManagers[0]!.kill();
    assert.equal(textOf(await ended(url(1, 'plain'), id.long)), 'computed long');
    const lost = await ended(url(1, 'plain'), open.result?.taskId);
    assert.match(JSON.stringify(lost.error), /lost/);
  });
});
