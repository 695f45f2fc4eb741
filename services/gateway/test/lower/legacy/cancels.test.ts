// Does a cancel end the one call it means, from any replica, and nothing else? (protocol.md §5.3 "cancel", design
// ruling 6)

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { inFlightKey } from '../../../src/session/keys.ts';
import { call, notification, open, post, request } from './client.ts';
import { createUpstream, createWorld, held, type Kind, result, type World } from './replicas.ts';

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  describe(`with the ${kind} store`, () => {
    let world: World;
    before(async () => {
      world = await createWorld(kind);
    });
    after(() => world.close());
    afterEach(() => {
      world.upstream.answer = createUpstream().answer;
    });

    const cancel = (replica: 0 | 1, session: string, requestId: unknown, user?: string) =>
      post(world.replicas[replica], notification('notifications/cancelled', { requestId }), {
        session,
        ...(user === undefined ? {} : { user }),
      });
    const inStore = (session: string) => world.stores[0]!.membersOf(inFlightKey('acme', session));

    for (const from of [0, 1] as const) {
      test(`from ${from === 0 ? 'the same' : 'the other'} replica: no response, the exchange is cancelled`, async () => {
        const session = await open(world.replicas[0]);
        const slow = held();
        world.upstream.answer = slow.answer;
        const reply = post(world.replicas[0], call(5, 'slow'), { session });
        await slow.started;
        const { exchange } = world.upstream.seen.at(-1)!;
        await eventually(async () => assert.equal((await inStore(session)).length, 1));
        assert.equal((await cancel(from, session, 5)).status, 202);
        const ended = await reply;
        assert.equal(ended.status, 200);
        assert.equal((await ended.text()).includes('jsonrpc'), false);
        assert.equal(exchange.signal.aborted, true);
        assert.equal(world.upstream.cancelled.includes(exchange.xid), true);
        await eventually(async () => assert.equal((await inStore(session)).length, 0));
      });
    }

    test('one that comes before the call is in the store finds it all the same', async () => {
      const session = await open(world.replicas[0]);
      const slow = held();
      world.upstream.answer = slow.answer;
      const reply = post(world.replicas[0], call('early', 'slow'), { session, accept: 'application/json' });
      await slow.started;
      assert.equal((await cancel(1, session, 'early')).status, 202);
      const ended = await reply;
      assert.equal(ended.status, 202);
      assert.equal(await ended.text(), '');
    });

    test('a late one does not hit the next call under the same id', async () => {
      const session = await open(world.replicas[0]);
      await (await post(world.replicas[0], call(1, 'done'), { session })).text();
      assert.equal((await cancel(1, session, 1)).status, 202);
      const slow = held();
      world.upstream.answer = slow.answer;
      const reply = post(world.replicas[0], call(1, 'slow'), { session, accept: 'application/json' });
      await slow.started;
      await eventually(async () => assert.equal((await inStore(session)).length, 1));
      slow.release(result('"content":[]'));
      assert.equal((await reply).status, 200);
    });

    test('GB-078: one that fits two calls is 202 and does nothing', async () => {
      const session = await open(world.replicas[0]);
      const first = held();
      const second = held();
      world.upstream.answer = (e, ask, l) => (ask.name === 'first' ? first : second).answer(e, ask, l);
      const replies = [
        post(world.replicas[0], call(1, 'first'), { session, accept: 'application/json' }),
        post(world.replicas[1], call(1, 'second'), { session, accept: 'application/json' }),
      ];
      await Promise.all([first.started, second.started]);
      await eventually(async () => assert.equal((await inStore(session)).length, 2));
      assert.equal((await cancel(0, session, 1)).status, 202);
      first.release(result('"content":[]'));
      second.release(result('"content":[]'));
      for (const reply of replies) assert.equal((await reply).status, 200);
    });

    test('GB-078: two that are too young for the store are seen all the same, and neither is hit', async () => {
      for (const places of kind === 'redis'
        ? ([
            [0, 1],
            [1, 1],
          ] as const)
        : ([[1, 1]] as const)) {
        const session = await open(world.replicas[0]);
        const both = [held(), held()];
        world.upstream.answer = (e, ask, l) => both[Number(ask.name)]!.answer(e, ask, l);
        const replies = places.map((at, i) =>
          post(world.replicas[at], call(1, String(i)), { session, accept: 'application/json' }),
        );
        await Promise.all(both.map(({ started }) => started));
        assert.equal((await cancel(0, session, 1)).status, 202);
        await eventually(async () => assert.equal((await inStore(session)).length, 2));
        // A cancel that came later has been decided: so has that one.
        const third = held();
        world.upstream.answer = third.answer;
        const marker = post(world.replicas[1], call(2, 'third'), { session, accept: 'application/json' });
        await third.started;
        assert.equal((await cancel(0, session, 2)).status, 202);
        assert.equal((await marker).status, 202);
        for (const { release } of both) release(result('"content":[]'));
        for (const reply of replies) assert.equal((await reply).status, 200);
      }
    });

    test('GB-087: ids of others, of another type or of nothing are taken and ignored', async () => {
      const alice = await open(world.replicas[0]);
      const bob = await open(world.replicas[0], '2025-11-25', {}, { user: 'acme/bob/app' });
      const slow = held();
      world.upstream.answer = slow.answer;
      const reply = post(world.replicas[0], call(5, 'slow'), { session: alice, accept: 'application/json' });
      await slow.started;
      await eventually(async () => assert.equal((await inStore(alice)).length, 1));
      for (const id of [5, '5', 0, 50]) assert.equal((await cancel(1, bob, id, 'acme/bob/app')).status, 202);
      for (const id of ['5', 4, null, {}, undefined]) assert.equal((await cancel(1, alice, id)).status, 202);
      assert.equal((await cancel(1, alice, 5, 'acme/bob/app')).status, 404);
      slow.release(result('"content":[]'));
      assert.equal((await reply).status, 200);
    });

    test('GB-088: whoever wins the race, there is one reply and nothing is left over', async () => {
      const session = await open(world.replicas[0]);
      const rounds = Array.from({ length: 100 }, async (_, i) => {
        const slow = held();
        const chosen = world.upstream.answer;
        world.upstream.answer = (e, ask, l) => (ask.name === `t${i}` ? slow.answer(e, ask, l) : chosen(e, ask, l));
        const reply = post(world.replicas[i % 2 ? 1 : 0], call(i, `t${i}`), { session });
        await slow.started;
        const cancelling = cancel(i % 3 ? 1 : 0, session, i);
        slow.release(result('"content":[]'));
        assert.equal((await cancelling).status, 202);
        const ended = await reply;
        const body = await ended.text();
        assert.ok(body === '' || body.includes(`"id":${i}`) || !body.includes('data:'), body);
      });
      await Promise.all(rounds);
      world.upstream.answer = createUpstream().answer;
      const next = await post(world.replicas[0], request(1000, 'ping'), { session });
      assert.equal(next.status, 200);
      await eventually(async () => assert.equal((await inStore(session)).length, 0));
    });
  });
}
