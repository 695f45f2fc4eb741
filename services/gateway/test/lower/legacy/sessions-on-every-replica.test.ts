// Is a legacy session valid on every replica, and only for the one who opened it? (protocol.md §3.1, §3.3, RS-23)

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { call, greeting, notification, open, post, reader, request, verb } from './client.ts';
import { createWorld, type Kind, type World } from './replicas.ts';

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  describe(`with the ${kind} store`, () => {
    let world: World;
    before(async () => {
      world = await createWorld(kind);
    });
    after(() => world.close());

    test('GB-001, GB-003: a session opened on one replica is served by the other', async () => {
      const [a, b] = world.replicas;
      const session = await open(a);
      assert.match(session, /^[\x21-\x7e]{43}$/);
      assert.equal((await post(b, notification('notifications/initialized'), { session })).status, 202);
      const answer = await post(b, call(1, 'echo'), { session });
      assert.equal(answer.status, 200);
      assert.deepEqual(await answer.json(), {
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: 'echo' }] },
      });
      const seen = world.upstream.seen.at(-1)!;
      assert.equal(seen.exchange.era, 'legacy');
      assert.equal(seen.exchange.revision, '2025-11-25');
      assert.equal(seen.exchange.onVanish, 'keep');
      assert.notEqual(seen.exchange.session, session);
      const stream = await verb('GET', a, { session, accept: 'text/event-stream' }, AbortSignal.timeout(5000));
      assert.equal(stream.status, 200);
      await stream.body?.cancel();
    });

    test('GB-010: another person, client, tenant or route finds no session, and the owner keeps it', async () => {
      const [a, b] = world.replicas;
      const session = await open(a);
      const strangers = [
        { session, user: 'acme/bob/app' },
        { session, user: 'acme/alice/other-app' },
        { session, user: 'umbrella/alice/app', path: '/umbrella/mcp' },
        { session, path: '/acme/other/mcp' },
        { session: `${session}%26owner=bob` },
        { session: 'zzz' },
        { session: 'A'.repeat(43) },
      ];
      const before = world.upstream.seen.length;
      for (const sent of strangers) {
        const answers = [
          await post(b, call(1, 'echo'), sent),
          await verb('GET', b, { ...sent, accept: 'text/event-stream' }),
          await verb('DELETE', b, sent),
        ];
        for (const answer of answers) {
          assert.equal(answer.status, 404, JSON.stringify(sent));
          const body = (await answer.json()) as { error: { message: string } };
          assert.equal(body.error.message.includes('alice'), false);
        }
      }
      assert.equal(world.upstream.seen.length, before);
      assert.equal((await post(b, call(1, 'echo'), { session })).status, 200);
    });

    test('an unknown and a foreign session read alike', async () => {
      const [a] = world.replicas;
      const session = await open(a);
      const foreign = await post(a, call(1, 'x'), { session, user: 'acme/bob/app' });
      const unknown = await post(a, call(1, 'x'), { session: 'B'.repeat(43) });
      const strip = (t: string) => t.replace(/"lockkeeper\/exchange":"[^"]*"/, '');
      assert.equal(strip(await foreign.text()), strip(await unknown.text()));
    });

    test('DELETE ends the session everywhere: calls are cancelled, streams end, the id is unknown', async () => {
      const [a, b] = world.replicas;
      const session = await open(a);
      await (await post(b, call(1, 'echo'), { session })).text(); // b has it in its cache
      const stream = await verb('GET', b, { session, accept: 'text/event-stream' }, AbortSignal.timeout(8000));
      const events = reader(stream);
      assert.equal((await events.next())?.data, '');
      const running = new Promise<void>((started) => {
        world.upstream.answer = (exchange) => {
          started();
          return new Promise((done) =>
            exchange.signal.addEventListener('abort', () =>
              done({ kind: 'refusal', refusal: { reason: 'cancelled' } }),
            ),
          );
        };
      });
      const slow = post(b, call(7, 'slow'), { session });
      await running;
      assert.equal((await verb('DELETE', a, { session })).status, 204);
      assert.equal(await events.next(), null);
      const ended = await slow;
      assert.equal(await ended.text(), '');
      await eventually(async () => assert.equal((await post(b, request(2, 'ping'), { session })).status, 404));
      assert.equal((await verb('DELETE', a, { session })).status, 404);
    });

    test('log level and subscriptions are the session’s on every replica', async () => {
      const [a, b] = world.replicas;
      const session = await open(a);
      world.upstream.answer = async () => ({ kind: 'result', resultType: 'complete', members: new Uint8Array(0) });
      const level = await post(a, request(1, 'logging/setLevel', { level: 'warning' }), { session });
      assert.deepEqual(await level.json(), { jsonrpc: '2.0', id: 1, result: {} });
      await eventually(async () => {
        await (await post(b, call(2, 'echo'), { session })).text();
        assert.equal(world.upstream.seen.at(-1)?.exchange.logLevel, 'warning');
      });
      const subscribed = await post(b, request(3, 'resources/subscribe', { uri: 'a:b' }), { session });
      assert.deepEqual(await subscribed.json(), { jsonrpc: '2.0', id: 3, result: {} });
      assert.equal(world.upstream.seen.at(-1)?.ask.method, 'resources/subscribe');
      assert.equal(world.upstream.seen.at(-1)?.ask.name, 'a:b');
      const left = await post(a, request(4, 'resources/unsubscribe', { uri: 'a:b' }), { session });
      assert.deepEqual(await left.json(), { jsonrpc: '2.0', id: 4, result: {} });
      world.upstream.answer = async () => ({ kind: 'refusal', refusal: { reason: 'unknown-resource' } });
      const unknown = await post(a, request(5, 'resources/subscribe', { uri: 'a:c' }), { session });
      assert.equal(((await unknown.json()) as { error: { code: number } }).error.code, -32002);
    });

    test('each initialize opens its own session, whatever id comes with it', async () => {
      const [a] = world.replicas;
      const first = await open(a);
      const again = await post(a, greeting(), { session: first });
      assert.equal(again.status, 200);
      assert.notEqual(again.headers.get('mcp-session-id'), first);
    });
  });
}
