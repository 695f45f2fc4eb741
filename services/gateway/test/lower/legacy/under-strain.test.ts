// What does a legacy client get while shared state cannot be read, while a server starts slowly, and when the replica
// drains? (GB-141, GB-142, GB-074)

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { call, events, greeting, open, post, reader, request, verb } from './client.ts';
import { createWorld, held, result, type World } from './replicas.ts';

describe('GB-142: while the store is silent', () => {
  let world: World;
  let silent = false;
  before(async () => {
    const memory = createMemoryStore({ clock: systemClock, warn: () => undefined });
    const store = new Proxy(memory, {
      get(target, name) {
        const own = target[name as keyof Store] as unknown;
        if (typeof own !== 'function' || name === 'close') return own;
        return (...args: unknown[]) => {
          if (silent && name !== 'follow') return Promise.reject(new Error('unreachable'));
          return (own as (...a: unknown[]) => unknown).apply(target, args);
        };
      },
    });
    world = await createWorld('memory', { store });
  });
  after(() => world.close());

  test('session traffic is 503 with Retry-After, sessionless calls go on, and it recovers', async () => {
    const [a] = world.replicas;
    const session = await open(a);
    silent = true;
    await eventually(async () => {
      assert.equal((await post(a, request(1, 'ping'), { session })).status, 503); // the cache lives for a second
    });
    const answers = [
      await post(a, call(1, 'echo'), { session }),
      await post(a, greeting()),
      await verb('DELETE', a, { session }),
      await verb('GET', a, { session, accept: 'text/event-stream' }),
      await verb('GET', a, { path: '/acme/everything/sse', accept: 'text/event-stream' }),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 503);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
      assert.equal(answer.headers.get('mcp-session-id'), null);
      assert.equal(((await answer.json()) as { error: { code: number } }).error.code, 10010);
    }
    assert.equal((await post(a, call(1, 'echo'))).status, 200);
    silent = false;
    assert.equal((await post(a, request(1, 'ping'), { session })).status, 200);
  });
});

test('GB-074: a slow initialize becomes a stream that names the session', async () => {
  let go!: () => void;
  const started = new Promise<void>((done) => {
    go = done;
  });
  const world = await createWorld('memory', {
    initializeInfo: async () => {
      await started;
      return { kind: 'info', capabilities: {} };
    },
  });
  const [a, b] = world.replicas;
  const answer = await post(a, greeting());
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const session = answer.headers.get('mcp-session-id') ?? '';
  assert.equal((await post(b, request(1, 'ping'), { session })).status, 404);
  go();
  assert.equal((await events(answer)).length, 1);
  assert.equal((await post(b, request(1, 'ping'), { session })).status, 200);
  await world.close();
});

test('GB-141: at drain the standalone stream ends at once and calls in flight are answered', async () => {
  const world = await createWorld('memory');
  const [a] = world.replicas;
  const session = await open(a);
  const slow = held();
  world.upstream.answer = slow.answer;
  const reply = post(a, call(1, 'slow'), { session, accept: 'application/json' });
  await slow.started;
  const stream = reader(await verb('GET', a, { session, accept: 'text/event-stream' }, AbortSignal.timeout(5000)));
  await stream.next();
  const closing = a.leg.close(500);
  assert.equal(await stream.next(), null);
  slow.release(result('"content":[]'));
  assert.equal((await reply).status, 200);
  await closing;
  assert.deepEqual(world.upstream.cancelled, []);
  await world.close();
});

test('GB-141: what outlives the drain is cancelled', async () => {
  const world = await createWorld('memory');
  const [a] = world.replicas;
  const slow = held();
  world.upstream.answer = slow.answer;
  const reply = post(a, call(1, 'slow'), { accept: 'application/json' });
  await slow.started;
  await a.leg.close(500);
  await (await reply).text();
  assert.deepEqual(world.upstream.cancelled, [world.upstream.seen[0]?.exchange.xid]);
  await world.close();
});

test('GB-053: Mcp-Method and Mcp-Name of a legacy request decide nothing', async () => {
  const world = await createWorld('memory');
  const [a] = world.replicas;
  const session = await open(a);
  const headers = { 'mcp-method': 'tools/list', 'mcp-name': 'allowed', 'mcp-param-x': '1' };
  await (await post(a, call(1, 'forbidden'), { session, headers })).text();
  const { ask } = world.upstream.seen[0]!;
  assert.deepEqual([ask.method, ask.name, ask.paramHeaders], ['tools/call', 'forbidden', undefined]);
  await world.close();
});
