// A pool manager is told to end (SIGTERM) while people think: are they still answered there, is everybody else served by
// another at once, and what happens when the grace ends (design §5 "Drain")?

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { eventually, within } from '../harness/eventually.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Stage, startStage, textOf } from './stage.ts';

const DRAIN_MS = 1_500;

describe('a pool manager is told to end', { concurrency: false }, () => {
  let redis: StartedRedis;
  let stage: Stage;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis?.stop());
  afterEach(() => stage?.stop());

  /** Somebody has been asked, and the node that waits for him will have to go. */
  async function asked(arg: string, drainHumanMs: number) {
    stage = await startStage(redis.url, { gateways: 2, limits: { drainMs: DRAIN_MS, drainHumanMs } });
    const pid = Number(textOf(await stage.call({ arg: 'pid', tool: 'pid' })));
    const question = await stage.question({ arg });
    const { holder, other } = stage.holderOf(pid);
    return { pid, question, node: stage.cluster.poolManagers[holder]!, other };
  }

  /** What the server was told when it had asked. */
  const told = () =>
    stage.recorded().flatMap(({ by, message }) => {
      const { result } = message as { result?: { action?: string } };
      return by === 'lockkeeper' && result?.action !== undefined ? [result.action] : [];
    });
  const ended = (node: { readonly exited: Promise<unknown> }) => within(node.exited, 20_000, 'its end');

  it('what waits for a person is answered there, when what only ran was given up long ago; new work is elsewhere', async () => {
    const { pid, question, node, other } = await asked('slow person', 60_000);
    const running = stage.call({ arg: 'long', tool: 'steps', args: { steps: 1_000, everyMs: 100 } });
    await eventually(() => stage.runs('long') === 1);
    process.kill(node.pid, 'SIGTERM');
    const now = await eventually(async () => {
      const said = await stage.call({ arg: 'pid', tool: 'pid', gateway: 1 });
      assert.equal(said.result?.isError, undefined, JSON.stringify(said));
      assert.notEqual(Number(textOf(said)), pid);
      return Number(textOf(said));
    });
    assert.equal(stage.holderOf(now).holder, other);
    const lost = await running;
    assert.equal(lost.result?._meta?.['lockkeeper/reason'], 'lost', JSON.stringify(lost));

    const done = await stage.call({ arg: 'slow person', gateway: 1, question });
    assert.equal(textOf(done), 'slow person: accept 42');
    assert.equal(stage.runs('slow person'), 1);
    assert.deepEqual(await ended(node), { code: 0, signal: null });
    // The reply may have been lost on its way: the end is known when its node is gone, and nothing runs anew.
    const again = await stage.call({ arg: 'slow person', gateway: 0, question });
    assert.equal(textOf(again), 'slow person: accept 42');
    const otherwise = await stage.call({ arg: 'slow person', question, answer: { action: 'decline' } });
    assert.equal(textOf(otherwise), 'slow person: accept 42');
    assert.equal(stage.runs('slow person'), 1);
  });

  it('nobody answers until the grace ends: the server is told, and the caller hears that it is lost', async () => {
    const { question, node } = await asked('absent', 2_500);
    process.kill(node.pid, 'SIGTERM');
    assert.deepEqual(await ended(node), { code: 0, signal: null });
    assert.deepEqual(told(), ['cancel']);
    const late = await stage.call({ arg: 'absent', gateway: 1, question });
    assert.equal(late.result?._meta?.['lockkeeper/reason'], 'lost', JSON.stringify(late));
    assert.equal(stage.runs('absent'), 1);
  });

  it('told twice, it waits for nobody', async () => {
    const { node } = await asked('hurried', 600_000);
    process.kill(node.pid, 'SIGTERM');
    await eventually(() => node.logs().includes('draining'));
    process.kill(node.pid, 'SIGTERM');
    assert.deepEqual(await ended(node), { code: 0, signal: null });
    assert.deepEqual(told(), ['cancel']);
  });
});
