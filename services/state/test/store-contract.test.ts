// Does every store keep the contract of src/store.ts? One suite for memory and Redis; its parts are in store-contract/.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type StartedRedis, startRedis } from '../../../test/harness/redis.ts';
import { systemClock } from '../src/clock.ts';
import { isStateError } from '../src/errors.ts';
import { createMemoryStore } from '../src/memory/store.ts';
import { createRedisStore } from '../src/redis/store.ts';
import { keyOf, type Store } from '../src/store.ts';
import { createBench } from './store-contract/bench.ts';
import { channels } from './store-contract/channels.ts';
import { logs } from './store-contract/logs.ts';
import { sets } from './store-contract/sets.ts';
import { texts } from './store-contract/texts.ts';

const deps = { clock: systemClock, warn: () => undefined };

let redis: StartedRedis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

const IMPLEMENTATIONS: readonly [string, () => Store][] = [
  ['memory', () => createMemoryStore(deps)],
  ['redis', () => createRedisStore({ ...deps, url: redis.url })],
];

for (const [kind, open] of IMPLEMENTATIONS) {
  describe(`${kind} store`, () => {
    let store: Store;
    before(() => {
      store = open();
    });
    after(() => store.close());

    const bench = createBench(kind, () => store);
    texts(bench);
    sets(bench);
    logs(bench);
    channels(bench);
  });

  describe(`${kind} store, closed`, () => {
    test('refuses everything, tells followers nothing, and close is idempotent', async () => {
      const store = open();
      const key = keyOf(`t-${randomUUID()}`, 'k');
      await store.append(key, 'v', 9, 1000);
      const told = () => assert.fail('a follower was told after the close');
      store.follow(`${key}:other`, '', told, told);
      await store.close();
      await store.close();
      assert.equal(store.reachable(), false);
      const closed = (error: unknown) => isStateError(error, 'ERR_STATE_CLOSED');
      await assert.rejects(store.get(key), closed);
      await assert.rejects(store.append(key, 'v', 9, 1000), closed);
      await assert.rejects(store.publish(key, 'm'), closed);
      await assert.rejects(store.subscribe(key, told), closed);
    });
  });
}

test('keys carry the tenant as hash tag and escape what would split them', () => {
  assert.equal(keyOf('acme', 'sess', 'a:b{c}'), 'lk:{acme}:sess:a%3Ab%7Bc%7D');
  assert.equal(keyOf('', 'node'), 'lk:{}:node');
});
