// Do all starters on one store get the same secret, and is the operator told?

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type StartedRedis, startRedis } from '../../../test/harness/redis.ts';
import { sharedSecret } from '../src/bootstrap.ts';
import { systemClock } from '../src/clock.ts';
import { createMemoryStore } from '../src/memory/store.ts';
import { createRedisStore } from '../src/redis/store.ts';

const quiet = { clock: systemClock, warn: () => undefined };

let redis: StartedRedis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

test('on Redis every starter gets the same bytes, and each is told to configure them', async () => {
  const name = `seal-${randomUUID()}`;
  const stores = Array.from({ length: 5 }, () => createRedisStore({ ...quiet, url: redis.url }));
  const warnings: string[] = [];
  const deps = { random: randomBytes, warn: (words: string) => warnings.push(words) };
  const secrets = await Promise.all(stores.map((store) => sharedSecret(store, name, 32, deps)));
  assert.equal(secrets[0]!.length, 32);
  for (const secret of secrets) assert.deepEqual(secret, secrets[0]);
  assert.equal(warnings.length, 5);
  for (const words of warnings) {
    assert.match(words, /secret store.*(link\.secret|seal\.keys)/);
    assert.ok(!words.includes(secrets[0]!.toString('base64')));
  }
  assert.deepEqual(await stores[0]!.scan(`lk:{}:keys:${name}`), [`lk:{}:keys:${name}`]);
  await stores[0]!.delete(`lk:{}:keys:${name}`);
  await Promise.all(stores.map((store) => store.close()));
});

test('in memory the bytes are made for this process, without a warning', async () => {
  const [one, two] = [createMemoryStore(quiet), createMemoryStore(quiet)];
  const deps = { random: randomBytes, warn: (words: string) => assert.fail(words) };
  const secret = await sharedSecret(one, 'link', 32, deps);
  assert.deepEqual(await sharedSecret(one, 'link', 32, deps), secret);
  assert.notDeepEqual(await sharedSecret(two, 'link', 32, deps), secret);
  await one.close();
  await two.close();
});

test('an unreachable store gives no secret', async () => {
  const store = createRedisStore({ ...quiet, url: 'redis://127.0.0.1:1' });
  await assert.rejects(sharedSecret(store, 'link', 32, { random: randomBytes, warn: () => undefined }), /unreachable/);
  await store.close();
});
