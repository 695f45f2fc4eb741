// Does the 2024-11-05 transport work when GET and POST meet different replicas, for its owner only, and does it end
// with its stream? (protocol.md §3.7)

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { holderKey, recordKey } from '../../../src/session/keys.ts';
import { call, greeting, notification, post, reader, request, verb } from './client.ts';
import {
  createUpstream,
  createWorld,
  held,
  type Kind,
  LIMITS,
  type Replica,
  ROUTE,
  result,
  text,
  type World,
} from './replicas.ts';

interface Opened {
  readonly id: string;
  readonly messages: string;
  next(): Promise<Record<string, unknown> | null>;
  leave(): void;
}

async function openSse(replica: Replica, user?: string): Promise<Opened> {
  const stop = new AbortController();
  const sent = { path: '/acme/everything/sse', accept: 'text/event-stream', ...(user === undefined ? {} : { user }) };
  const response = await verb('GET', replica, sent, stop.signal);
  assert.equal(response.status, 200);
  const stream = reader(response);
  const endpoint = await stream.next();
  assert.equal(endpoint?.event, 'endpoint');
  const [base, id] = (endpoint?.data ?? '').split('?sessionId=') as [string, string];
  // publicBaseUrl has a path of its own here, which the ingress would strip.
  assert.equal(base, '/base/acme/everything/messages');
  return {
    id,
    messages: `/acme/everything/messages?sessionId=${id}`,
    async next() {
      const event = await stream.next();
      if (event !== null) assert.equal(event.event, 'message');
      return event === null ? null : (JSON.parse(event.data!) as Record<string, unknown>);
    },
    leave: () => stop.abort(),
  };
}

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

    for (const at of [0, 1] as const) {
      test(`a POST to ${at === 0 ? 'the holder' : 'the other replica'} is answered on the stream`, async () => {
        const stream = await openSse(world.replicas[0]);
        const replica = world.replicas[at];
        const send = async (body: unknown) => {
          const answer = await post(replica, body, { path: stream.messages });
          assert.equal(answer.status, 202);
          assert.equal(await answer.text(), '');
        };
        await send(greeting('2024-11-05'));
        const welcome = (await stream.next()) as { id: number; result: { protocolVersion: string } };
        assert.deepEqual([welcome.id, welcome.result.protocolVersion], [0, '2024-11-05']);
        await send(notification('notifications/initialized'));
        world.upstream.answer = async (_exchange, ask, listener) => {
          listener.event('notifications/progress', text('"progress":1,"message":"m"'));
          return result(`"content":[{"type":"text","text":"${ask.name}"}]`);
        };
        await send(call('c', 'echo', { progressToken: 4 }));
        assert.deepEqual(await stream.next(), {
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: 4, progress: 1 },
        });
        assert.deepEqual(await stream.next(), {
          jsonrpc: '2.0',
          id: 'c',
          result: { content: [{ type: 'text', text: 'echo' }] },
        });
        stream.leave();
      });
    }

    test('a newer revision over this transport is fine, and each replica knows it at once', async () => {
      const [a, b] = world.replicas;
      const stream = await openSse(a);
      await post(b, greeting('2025-11-25'), { path: stream.messages });
      await stream.next();
      await post(a, call(1, 'echo'), { path: stream.messages });
      assert.equal((await stream.next())?.id, 1);
      assert.equal(world.upstream.seen.at(-1)?.exchange.revision, '2025-11-25');
      stream.leave();
    });

    test('before initialize only ping is answered', async () => {
      const stream = await openSse(world.replicas[0]);
      await post(world.replicas[1], request(1, 'tools/list'), { path: stream.messages });
      assert.equal(((await stream.next()) as { error: { code: number } }).error.code, -32600);
      await post(world.replicas[1], request(2, 'ping'), { path: stream.messages });
      assert.deepEqual(await stream.next(), { jsonrpc: '2.0', id: 2, result: {} });
      stream.leave();
    });

    test('GB-011: another person’s POST is 404 and writes nothing', async () => {
      const stream = await openSse(world.replicas[0]);
      await post(world.replicas[0], greeting('2024-11-05'), { path: stream.messages });
      await stream.next();
      for (const user of ['acme/bob/app', 'acme/alice/other']) {
        for (const replica of world.replicas) {
          const answer = await post(replica, request(1, 'tools/list'), { path: stream.messages, user });
          assert.equal(answer.status, 404);
        }
      }
      await post(world.replicas[0], request(9, 'ping'), { path: stream.messages });
      assert.equal((await stream.next())?.id, 9);
      stream.leave();
    });

    test('the id of one transport is unknown on the other', async () => {
      const stream = await openSse(world.replicas[0]);
      assert.equal((await post(world.replicas[0], request(1, 'ping'), { session: stream.id })).status, 404);
      const other = await post(world.replicas[0], greeting());
      const id = other.headers.get('mcp-session-id');
      const path = `/acme/everything/messages?sessionId=${id}`;
      assert.equal((await post(world.replicas[0], request(1, 'ping'), { path })).status, 404);
      stream.leave();
    });

    test('the stream’s loss ends the session: calls are cancelled, POSTs are 404', async () => {
      const [a, b] = world.replicas;
      const stream = await openSse(a);
      await post(b, greeting('2024-11-05'), { path: stream.messages });
      await stream.next();
      const slow = held();
      world.upstream.answer = slow.answer;
      await post(b, call(1, 'slow'), { path: stream.messages });
      await slow.started;
      const { signal } = world.upstream.seen.at(-1)!.exchange;
      stream.leave();
      await eventually(() => signal.aborted);
      await eventually(async () => {
        assert.equal((await post(b, request(2, 'ping'), { path: stream.messages })).status, 404);
      });
      assert.equal(await world.stores[0]!.get(recordKey('acme', stream.id)), null);
      assert.equal(await world.stores[0]!.get(holderKey('acme', stream.id)), null);
    });

    test('GB-014: a stream whose holder is gone is 404 at once', async () => {
      const stream = await openSse(world.replicas[0]);
      await post(world.replicas[0], greeting('2024-11-05'), { path: stream.messages });
      await stream.next();
      // A second session whose replica died: its record stands, its lease does not.
      const dead = 'D'.repeat(43);
      const record = await world.stores[0]!.get(recordKey('acme', stream.id));
      await world.stores[0]!.set(recordKey('acme', dead), record!, LIMITS.sessionIdleMs);
      const answer = await post(world.replicas[1], request(1, 'ping'), {
        path: `/acme/everything/messages?sessionId=${dead}`,
      });
      assert.equal(answer.status, 404);
      assert.equal(await world.stores[0]!.get(recordKey('acme', dead)), null);
      stream.leave();
    });

    test('a route may switch it off', async () => {
      const before = world.snapshot.value;
      world.snapshot.value = { ...before, routes: [{ ...ROUTE, sse: false }] };
      const answer = await verb('GET', world.replicas[0], {
        path: '/acme/everything/sse',
        accept: 'text/event-stream',
      });
      world.snapshot.value = before;
      assert.equal(answer.status, 405);
    });
  });
}

test('closing a replica ends its streams and their sessions', async () => {
  const world = await createWorld('memory');
  const stream = await openSse(world.replicas[0]);
  await world.replicas[0].leg.close(500);
  assert.equal(await stream.next(), null);
  assert.equal((await post(world.replicas[1], request(1, 'ping'), { path: stream.messages })).status, 404);
  await world.close();
});
