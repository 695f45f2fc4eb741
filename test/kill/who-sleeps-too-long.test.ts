// A pool manager stands still for longer than its leases live (SIGSTOP) and wakes up (SIGCONT): does it serve what is no
// longer its own (design §4 "Who owns a pool key")?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Stage, startStage, textOf } from './stage.ts';

let redis: StartedRedis;
let stage: Stage;
let asleep = 0;

before(async () => {
  redis = await startRedis();
  stage = await startStage(redis.url);
});

after(async () => {
  if (asleep > 0) process.kill(asleep, 'SIGCONT');
  await stage?.stop();
  await redis?.stop();
});

const alive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('a pool manager that stood still', () => {
  it('kills what it lost, says that the question is lost, and its callers are served by the other', async () => {
    const before = Number(textOf(await stage.call({ arg: 'pid', tool: 'pid' })));
    const question = await stage.question({ arg: 'z' });
    const { holder, other } = stage.holderOf(before);
    asleep = stage.cluster.poolManagers[holder]!.pid;
    process.kill(asleep, 'SIGSTOP');
    // Its lease ends, and another takes its callers.
    const now = await eventually(
      async () => {
        const said = await stage.call({ arg: 'pid', tool: 'pid', gateway: 1 });
        assert.ok(said.result?.content && !said.result.isError, JSON.stringify(said));
        return Number(textOf(said));
      },
      { deadlineMs: 60_000, everyMs: 500 },
    );
    assert.equal(stage.holderOf(now).holder, other);
    assert.ok(alive(before), 'it was only stopped');
    process.kill(asleep, 'SIGCONT');
    asleep = 0;
    await eventually(() => !alive(before), { deadlineMs: 15_000 });
    const late = await stage.call({ arg: 'z', gateway: 1, question });
    assert.equal(late.result?._meta?.['lockkeeper/reason'], 'lost', JSON.stringify(late));
    assert.equal(stage.runs('z'), 1);
    for (const gateway of [0, 1, 2]) {
      assert.equal(Number(textOf(await stage.call({ arg: 'pid', tool: 'pid', gateway }))), now);
    }
  });
});
