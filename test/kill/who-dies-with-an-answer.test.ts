// An answer is on its way, and the gateway that carries it dies; or two answers race over two gateways. Does the server get
// one, does the tool run once, and does everybody hear how it ended (protocol.md §5.5 "dup", "crash of A or B")?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Stage, startStage, textOf } from './stage.ts';

let redis: StartedRedis;
let stage: Stage;

before(async () => {
  redis = await startRedis();
  stage = await startStage(redis.url);
});
after(async () => {
  await stage?.stop();
  await redis?.stop();
});

/** What the server was told about this call. */
const told = (arg: string) => {
  const entries = stage.recorded();
  const asked = entries.find(({ by, message }) => {
    return by === 'server' && message.method === 'elicitation/create' && JSON.stringify(message).includes(arg);
  });
  return entries.filter(
    ({ by, message }) => by === 'lockkeeper' && 'result' in message && message.id === asked?.message.id,
  );
};
const accept = (code: string) => ({ action: 'accept', content: { code } });

describe('an answer is on its way', { concurrency: false }, () => {
  for (const thenMs of [0, 1_000]) {
    const moment = thenMs === 0 ? 'at once' : 'while the tool goes on';
    it(`two that differ race over two gateways, done ${moment}: one counts, both hear the same end`, async () => {
      const arg = `race${thenMs}`;
      const args = { thenMs };
      const question = await stage.question({ arg, args });
      const retries = ['1', '2', '3', '4'].map((code, i) =>
        stage.call({ arg, args, gateway: 1 + (i % 2), question, answer: accept(code) }),
      );
      const ends = (await Promise.all(retries)).map(textOf);
      assert.equal(new Set(ends).size, 1, ends.join());
      assert.match(ends[0]!, new RegExp(`^${arg}: accept [1234]$`));
      assert.deepEqual([told(arg).length, stage.runs(arg)], [1, 1]);
    });
  }

  it('its gateway is killed with it: the same retry at another hears the end of the same run', async () => {
    const [arg, args] = ['carried', { thenMs: 2_000 }];
    const question = await stage.question({ arg, args });
    const broken = stage.call({ arg, args, gateway: 0, question }).then(
      () => 'answered',
      () => 'broken',
    );
    await eventually(() => told(arg).length === 1);
    await stage.cluster.gateways[0]!.process.kill();
    assert.equal(await broken, 'broken');
    assert.equal(textOf(await stage.call({ arg, args, gateway: 1, question })), `${arg}: accept 42`);
    assert.deepEqual([told(arg).length, stage.runs(arg)], [1, 1]);
  });
});
