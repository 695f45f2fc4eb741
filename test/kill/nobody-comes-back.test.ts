// A hundred calls ask their people, and none of the clients is seen again: is every server answered by the deadline, and is
// nothing left in Redis for ever (protocol.md §5.0 I3, §5.5 "timeout")?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type StartedRedis, startEmptyRedis } from '../harness/redis.ts';
import { answersTo, fromServer } from '../matrix/cell.ts';
import { lasting } from './keys.ts';
import { type Stage, startStage } from './stage.ts';

const COUNT = 100;

let redis: StartedRedis;
let stage: Stage;

before(async () => {
  redis = await startEmptyRedis();
  stage = await startStage(redis.url, { limits: { humanMs: 5_000, maxParkedPerPrincipal: 200 } });
});

after(async () => {
  await stage?.stop();
  await redis?.stop();
});

describe('a hundred clients that vanish', () => {
  it('each server’s question is answered in their place, once, and every key has its end', async () => {
    const questions = await Promise.all(
      Array.from({ length: COUNT }, (_, n) => stage.question({ arg: `v${n}`, gateway: n % 3 })),
    );
    const byProcess = () => Map.groupBy(stage.recorded(), ({ pid }) => pid);
    const asked = () => [...byProcess().values()].flatMap((entries) => fromServer(entries, 'elicitation/create'));
    const answered = () => [...byProcess().values()].flatMap((entries) => answersTo(entries, 'elicitation/create'));
    assert.equal(asked().length, COUNT);
    await eventually(() => answered().length >= COUNT, { deadlineMs: 30_000, everyMs: 100 });
    assert.deepEqual(
      answered().map(({ result }) => result),
      Array.from({ length: COUNT }, () => ({ action: 'cancel' })),
    );
    const late = await stage.call({ arg: 'v0', gateway: 1, question: questions[0]! });
    assert.equal(late.error?.code, -32602, JSON.stringify(late));
    assert.equal(stage.runs('v0'), 1);
    assert.match(late.error.message, /again/);
    const kept = await lasting(redis.url);
    assert.ok(kept.all > 0);
    assert.deepEqual(kept.ours, []);
  });
});
