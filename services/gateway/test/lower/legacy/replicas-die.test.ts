// Does a client whose replica dies, drains or falls asleep hear everything once at the other, and does its tool run once?
// (design §2, §4 "Legacy streams")

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { type AskingNode, createAskingNode } from './asking-node.ts';
import { call, open, post, verb } from './client.ts';
import { follow, steps } from './follow.ts';
import { createWorld, type Kind, type World } from './replicas.ts';

const FORM = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } };
const CAN = { elicitation: {} };

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  describe(`when a replica dies, ${kind} store`, () => {
    let world: World;
    let node: AskingNode;
    beforeEach(async () => {
      world = await createWorld(kind);
      node = createAskingNode();
      world.upstream.answer = node.answer;
    });
    afterEach(() => world.close());

    const resume = (session: string, last: string) =>
      verb('GET', world.replicas[1], { session, accept: 'text/event-stream', headers: { 'last-event-id': last } });
    const answer = (session: string, id: unknown) =>
      post(world.replicas[1], { jsonrpc: '2.0', id, result: { action: 'accept' } }, { session });

    for (const order of ['answers, then comes back', 'comes back, then answers'] as const) {
      test(`a client that was asked ${order}: the tool ends, having run once`, async () => {
        node.script('ask', async (running) => {
          running.progress(1);
          const said = await running.ask('k', 'elicitation/create', FORM);
          running.progress(2);
          return JSON.stringify(said);
        });
        const session = await open(world.replicas[0], '2025-11-25', CAN);
        const heard = follow(await post(world.replicas[0], call(1, 'ask', { progressToken: 't' }), { session }));
        assert.equal((await heard.message()).params?.progress, 1);
        const question = await heard.message();
        assert.equal(question.method, 'elicitation/create');
        await world.replicas[0].kill();
        let back: ReturnType<typeof follow>;
        if (order === 'answers, then comes back') {
          assert.equal((await answer(session, question.id)).status, 202);
          back = follow(await resume(session, heard.last()));
        } else {
          back = follow(await resume(session, heard.last()));
          assert.equal((await answer(session, question.id)).status, 202);
        }
        assert.deepEqual(steps(await back.rest()), [2, '{"action":"accept"}']);
        assert.deepEqual(node.begun, ['ask']);
        await eventually(async () => {
          const left = await world.stores.at(-1)!.scan(`lk:{acme}:sess:${session}`);
          assert.deepEqual(
            left.filter((k) => /:(call|req):/.test(k)),
            [],
          );
        });
      });
    }

    test('a question that it asked and nobody heard is heard once', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heard = follow(await post(world.replicas[0], call(1, 'ask'), { session }));
      const first = await heard.next();
      await heard.message();
      await world.replicas[0].kill();
      const back = follow(await resume(session, first?.id ?? ''));
      const question = await back.message();
      assert.equal(question.method, 'elicitation/create');
      assert.equal((await answer(session, question.id)).status, 202);
      assert.deepEqual(steps(await back.rest()), ['{"action":"accept"}']);
    });

    test('questions asked after it was gone are asked by the other, each once', async () => {
      let go!: () => void;
      const gate = new Promise<void>((resolve) => {
        go = resolve;
      });
      node.script('ask', async (running) => {
        running.progress(1);
        await gate;
        const both = [running.ask('a', 'elicitation/create', FORM), running.ask('b', 'elicitation/create', FORM)];
        return JSON.stringify(await Promise.all(both));
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heard = follow(await post(world.replicas[0], call(1, 'ask', { progressToken: 't' }), { session }));
      await heard.message();
      await world.replicas[0].kill();
      const back = follow(await resume(session, heard.last()));
      go();
      const ids = [(await back.message()).id, (await back.message()).id];
      assert.equal(new Set(ids).size, 2);
      for (const id of ids) assert.equal((await answer(session, id)).status, 202);
      assert.deepEqual(steps(await back.rest()), ['[{"action":"accept"},{"action":"accept"}]']);
      assert.deepEqual(node.begun, ['ask']);
    });

    test('a large result that only the dead one had is fetched again', async () => {
      const large = 'x'.repeat(400_000);
      let end!: (said: string) => void;
      node.script('slow', async (running) => {
        running.progress(1);
        return await new Promise<string>((resolve) => {
          end = resolve;
        });
      });
      const session = await open(world.replicas[0]);
      const heard = follow(await post(world.replicas[0], call(1, 'slow', { progressToken: 't' }), { session }));
      await heard.message();
      const from = heard.last();
      end(large);
      await eventually(async () => {
        const [log = ''] = await world.stores.at(-1)!.scan(`lk:{acme}:sess:${session}:out:`);
        assert.ok((await world.stores.at(-1)!.read(log, '', 100)).some(({ value }) => value.startsWith('R ')));
      });
      await world.replicas[0].kill();
      assert.deepEqual(steps(await follow(await resume(session, from)).rest()), [large]);
      assert.deepEqual(node.begun, ['slow']);
    });

    test('GB-141: one that drains leaves its open calls to the other, with their questions', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heard = follow(await post(world.replicas[0], call(1, 'ask'), { session }));
      const question = await heard.message();
      const closing = world.replicas[0].leg.close();
      assert.deepEqual(await heard.rest(), []);
      await closing;
      assert.deepEqual(world.upstream.cancelled, []);
      const back = follow(await resume(session, heard.last()));
      assert.equal((await answer(session, question.id)).status, 202);
      assert.deepEqual(steps(await back.rest()), ['{"action":"accept"}']);
      assert.deepEqual(node.begun, ['ask']);
    });

    test('one that was only paused says nothing twice when it wakes', async () => {
      node.script('ask', async (running) => {
        running.progress(1);
        const first = await running.ask('a', 'elicitation/create', FORM);
        running.progress(2);
        const second = await running.ask('b', 'elicitation/create', FORM);
        running.progress(3);
        return JSON.stringify([first, second]);
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heard = follow(await post(world.replicas[0], call(1, 'ask', { progressToken: 't' }), { session }));
      assert.equal((await heard.message()).params?.progress, 1);
      const first = await heard.message();
      // Taken for dead: its beat is gone, and it goes on all the same.
      for (const key of await world.stores.at(-1)!.scan('lk:{}:replica:')) await world.stores.at(-1)!.delete(key);
      const back = follow(await resume(session, heard.last()));
      assert.equal((await answer(session, first.id)).status, 202);
      assert.equal((await back.message()).params?.progress, 2);
      const second = await back.message();
      assert.equal((await answer(session, second.id)).status, 202);
      assert.deepEqual(steps(await back.rest()), [3, '[{"action":"accept"},{"action":"accept"}]']);
      assert.deepEqual(steps(await heard.rest()), []);
      assert.equal(node.got.length, 2);
    });

    test('an exchange that was lost with it is said to be lost, and not begun again', async () => {
      node.script('slow', async (running) => {
        running.progress(1);
        return await new Promise<string>(() => undefined);
      });
      const session = await open(world.replicas[0]);
      const heard = follow(await post(world.replicas[0], call(7, 'slow', { progressToken: 't' }), { session }));
      await heard.message();
      await world.replicas[0].kill();
      world.upstream.answer = createAskingNode().answer;
      const [response] = await follow(await resume(session, heard.last())).rest();
      assert.equal(response?.id, 7);
      assert.equal(response?.result?.isError, true);
      assert.match(response?.result?.content[0]?.text ?? '', /may have run in part/);
      assert.deepEqual(node.begun, ['slow']);
    });
  });
}
