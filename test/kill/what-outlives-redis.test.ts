// Redis restarts without its data while a person is asked: what is still known, and what callers are told (design §6)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { callLegacy, openLegacySession } from '../harness/messages.ts';
import { lasting } from './keys.ts';
import { type Restartable, startRestartable } from './restartable.ts';
import { type Stage, startStage, textOf } from './stage.ts';

let redis: Restartable;
let stage: Stage;

before(async () => {
  redis = await startRestartable();
  stage = await startStage(redis.url);
});

after(async () => {
  // Fails where a process was left behind.
  await stage?.stop();
  await redis?.stop();
});

describe('Redis restarts, empty', { concurrency: false }, () => {
  it('the answer still reaches the waiting tool; a second one is told how it ended and starts nothing; sessions are gone', async () => {
    const { session } = await openLegacySession(stage.url(0));
    const question = await stage.question({ arg: 'r', gateway: 0 });
    await redis.restart();
    const done = await eventually(
      async () => {
        const said = await stage.call({ arg: 'r', gateway: 1, question });
        assert.ok(said.result, JSON.stringify(said));
        return said;
      },
      { deadlineMs: 20_000, everyMs: 250 },
    );
    assert.equal(textOf(done), 'r: accept 42');

    const ping = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
    const how = { session: session!, revision: '2025-11-25', message: ping };
    await eventually(async () => assert.equal((await callLegacy(stage.url(1), how)).status, 404), {
      deadlineMs: 20_000,
    });

    const again = await stage.call({ arg: 'r', gateway: 2, question, answer: { action: 'decline' } });
    // The node that ran it remembers how it ended; what Redis knew of it is gone.
    assert.equal(textOf(again), 'r: accept 42');
    assert.equal(stage.runs('r'), 1);
  });

  it('everything works again, and nothing is kept for ever', async () => {
    const next = await eventually(() => stage.question({ arg: 'next', gateway: 1 }), { deadlineMs: 20_000 });
    assert.equal(textOf(await stage.call({ arg: 'next', gateway: 2, question: next })), 'next: accept 42');
    const { session } = await openLegacySession(stage.url(2));
    assert.equal(typeof session, 'string');
    const kept = await lasting(redis.direct());
    assert.ok(kept.all > 0);
    assert.deepEqual(kept.ours, []);
  });
});
