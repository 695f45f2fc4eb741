// What happens to callers when Redis goes away, hangs or comes back? (design §6: an outage must not make calls wait.)

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type StartedRedis, startRedis } from '../../../../test/harness/redis.ts';
import { systemClock } from '../../src/clock.ts';
import { isStateError } from '../../src/errors.ts';
import { createRedisStore } from '../../src/redis/store.ts';
import { keyOf, type Store } from '../../src/store.ts';
import { openRelay, type Relay } from './relay.ts';

const TTL = 60_000;
const away = (error: unknown) => isStateError(error, 'ERR_STATE_UNREACHABLE');

let redis: StartedRedis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

describe('when Redis goes away', { timeout: 60_000 }, () => {
  let relay: Relay;
  let store: Store;
  let warnings: string[];
  let key: string;
  beforeEach(async () => {
    relay = await openRelay(redis.url);
    warnings = [];
    key = keyOf(`t-${randomUUID()}`, 'k');
    store = createRedisStore({
      url: relay.url,
      clock: systemClock,
      warn: (words) => warnings.push(words),
      connectTimeoutMs: 500,
      commandTimeoutMs: 500,
      followRoundMs: 600_000,
    });
  });
  afterEach(async () => {
    await store.close();
    await relay.close();
  });

  test('nothing is dialled before the first operation', async () => {
    assert.equal(relay.connections, 0);
    await store.set(key, 'v', TTL);
    assert.equal(relay.connections, 1);
  });

  test('an operation on a Redis that was never there fails, and the store heals by itself', async () => {
    await relay.cut();
    await assert.rejects(store.get(key), away);
    assert.equal(store.reachable(), false);
    await relay.mend();
    await eventually(() => store.reachable());
    await store.set(key, 'v', TTL);
    assert.equal(await store.get(key), 'v');
  });

  test('a cut connection fails operations at once, says so once and recovers', async () => {
    await store.set(key, 'v', TTL);
    await relay.cut();
    await eventually(() => !store.reachable());
    for (let i = 0; i < 50; i++) await assert.rejects(store.set(key, 'lost', TTL), away);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /^Redis at 127\.0\.0\.1:\d+ \(store\) is unreachable/);
    await relay.mend();
    await eventually(() => store.reachable());
    assert.equal(await store.get(key), 'v');
    assert.match(warnings.at(-1)!, /reachable again/);
  });

  test('operations under way when the connection breaks fail and are not sent again', async () => {
    await store.get(key);
    relay.freeze();
    const pending = Array.from({ length: 20 }, () => store.append(key, 'e', 100, TTL));
    const settled = Promise.allSettled(pending);
    await relay.cut();
    for (const outcome of await settled) assert.ok(outcome.status === 'rejected' && away(outcome.reason));
    await relay.mend();
    await eventually(() => store.reachable());
    await store.append(key, 'after', 100, TTL);
    assert.deepEqual(
      (await store.read(key, '', 100)).map((e) => e.value),
      ['after'],
    );
  });

  test('a Redis that takes connections and answers nothing fails operations, first connect or not', async () => {
    relay.freeze();
    await assert.rejects(store.get(key), away);
    await relay.mend();
    await eventually(() => store.reachable());
    await store.set(key, 'v', TTL);
    relay.freeze();
    await assert.rejects(store.get(key), away);
    assert.equal(store.reachable(), false);
    await relay.mend();
    await eventually(async () => (await store.get(key)) === 'v');
  });

  test('a follower waits out the outage and misses nothing', async () => {
    const got: string[] = [];
    const following = store.follow(key, '', (entry) => got.push(entry.value), assert.ifError);
    await store.append(key, 'before', 100, TTL);
    await eventually(() => got.length === 1);
    await relay.cut();
    await eventually(() => !store.reachable());
    const direct = createRedisStore({ url: redis.url, clock: systemClock, warn: () => undefined });
    await direct.append(key, 'during', 100, TTL);
    await relay.mend();
    await eventually(() => got.length === 2);
    await direct.append(key, 'after', 100, TTL);
    await eventually(() => got.length === 3);
    assert.deepEqual(got, ['before', 'during', 'after']);
    following.close();
    await direct.close();
  });

  test('a subscription refused by an outage is refused; one that stood stands again', async () => {
    const got: string[] = [];
    await store.subscribe(key, (message) => got.push(message));
    await relay.cut();
    await eventually(() => !store.reachable());
    await assert.rejects(
      store.subscribe(`${key}:other`, () => undefined),
      away,
    );
    await relay.mend();
    await eventually(async () => {
      await store.publish(key, 'again');
      return got.length > 0;
    });
  });

  test('closing while Redis is away ends at once', async () => {
    await store.get(key);
    await relay.cut();
    await store.close();
    await assert.rejects(store.get(key), (error) => isStateError(error, 'ERR_STATE_CLOSED'));
  });
});

test('the slow round finds what a lost hint would have told', async () => {
  const key = keyOf(`t-${randomUUID()}`, 'log');
  const store = createRedisStore({ url: redis.url, clock: systemClock, warn: () => undefined, followRoundMs: 100 });
  const { Redis } = await import('ioredis');
  const raw = new Redis(redis.url);
  const got: string[] = [];
  const following = store.follow(key, '', (entry) => got.push(entry.value), assert.ifError);
  await store.append(key, 'hinted', 100, TTL);
  await eventually(() => got.length === 1);
  await raw.xadd(key, '*', 'v', 'unhinted');
  await eventually(() => got.length === 2);
  following.close();
  raw.disconnect();
  await store.close();
});

test('scripts that Redis forgot are sent again', async () => {
  const key = keyOf(`t-${randomUUID()}`, 'k');
  const store = createRedisStore({ url: redis.url, clock: systemClock, warn: () => undefined });
  const { Redis } = await import('ioredis');
  const raw = new Redis(redis.url);
  await store.set(key, 'a', TTL);
  assert.equal(await store.compareAndSet(key, 'a', 'b', TTL), true);
  await raw.script('FLUSH');
  assert.equal(await store.compareAndSet(key, 'b', 'c', TTL), true);
  raw.disconnect();
  await store.close();
});

test('an error of Redis never carries what was sent', async () => {
  const warnings: string[] = [];
  const url = new URL(redis.url);
  url.username = 'nobody';
  url.password = 's3cret-value';
  const store = createRedisStore({ url: url.href, clock: systemClock, warn: (words) => warnings.push(words) });
  await assert.rejects(store.set('lk:{x}:k', 's3cret-value', TTL), (error: Error) => {
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`, /s3cret/);
    return true;
  });
  assert.ok(warnings.length > 0);
  assert.doesNotMatch(warnings.join(), /s3cret/);
  await store.close();
});

test('a rediss:// URL speaks TLS', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const store = createRedisStore({ url: `rediss://127.0.0.1:${port}`, clock: systemClock, warn: () => undefined });
  const asked = assert.rejects(store.get('lk:{x}:k'), away);
  const [socket] = await once(server, 'connection');
  const [hello] = await once(socket, 'data');
  assert.equal(hello[0], 0x16, 'the first byte of a TLS handshake');
  socket.destroy();
  await asked;
  await store.close();
  server.close();
});
