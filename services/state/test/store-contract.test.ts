// Does every store keep the contract of src/store.ts? One body for memory and Redis.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../test/harness/eventually.ts';
import { type StartedRedis, startRedis } from '../../../test/harness/redis.ts';
import { systemClock } from '../src/clock.ts';
import { isStateError } from '../src/errors.ts';
import { createMemoryStore } from '../src/memory/store.ts';
import { createRedisStore } from '../src/redis/store.ts';
import { keyOf, type LogEntry, type Store } from '../src/store.ts';

const TTL = 60_000;
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
    let key: () => string;
    const tenant = `t-${randomUUID()}`;
    before(() => {
      store = open();
      let n = 0;
      key = () => keyOf(tenant, 'k', String(n++));
    });
    after(() => store.close());

    const gone = (k: string) => eventually(async () => (await store.get(k)) === null);

    test('says which one it is and that it is reachable', async () => {
      assert.equal(await store.get(key()), null);
      assert.equal(store.kind, kind);
      assert.equal(store.reachable(), true);
    });

    test('keeps a text, any text, until its TTL', async () => {
      const k = key();
      for (const value of ['', 'plain', 'line\nbreak \u0000 ünï 😀', 'x'.repeat(300_000)]) {
        await store.set(k, value, TTL);
        assert.equal(await store.get(k), value);
      }
      await store.set(k, 'short', 30);
      await gone(k);
    });

    test('a later set replaces value and TTL', async () => {
      const k = key();
      await store.set(k, 'a', 1);
      await store.set(k, 'b', TTL);
      const brief = key();
      await store.set(brief, 'x', 40);
      await gone(brief);
      assert.equal(await store.get(k), 'b');
    });

    test('reads many keys in the order asked, null for the absent', async () => {
      const [a, b, c] = [key(), key(), key()];
      await store.set(a, '1', TTL);
      await store.set(c, '3', TTL);
      assert.deepEqual(await store.getMany([c, b, a, a]), ['3', null, '1', '1']);
      assert.deepEqual(await store.getMany([]), []);
    });

    test('refuses a TTL that is no positive number', async () => {
      for (const ttl of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        const k = key();
        await assert.rejects(store.set(k, 'v', ttl), TypeError);
        await assert.rejects(store.setIfAbsent(k, 'v', ttl), TypeError);
        await assert.rejects(store.compareAndSet(k, 'v', 'w', ttl), TypeError);
        await assert.rejects(store.compareAndTouch(k, 'v', ttl), TypeError);
        await assert.rejects(store.touch(k, ttl), TypeError);
        await assert.rejects(store.addToSet(k, 'v', 1, ttl), TypeError);
        await assert.rejects(store.append(k, 'v', 1, ttl), TypeError);
        assert.equal(await store.get(k), null);
      }
    });

    test('setIfAbsent lets exactly one of many win', async () => {
      const k = key();
      const wins = await Promise.all(Array.from({ length: 50 }, (_, i) => store.setIfAbsent(k, String(i), TTL)));
      assert.equal(wins.filter(Boolean).length, 1);
      assert.equal(await store.get(k), String(wins.indexOf(true)));
    });

    test('setIfAbsent wins again after expiry', async () => {
      const k = key();
      assert.equal(await store.setIfAbsent(k, 'a', 30), true);
      await eventually(() => store.setIfAbsent(k, 'b', TTL));
      assert.equal(await store.get(k), 'b');
    });

    test('compareAndSet replaces only what is expected', async () => {
      const k = key();
      assert.equal(await store.compareAndSet(k, '', 'x', TTL), false);
      await store.set(k, 'a', TTL);
      assert.equal(await store.compareAndSet(k, 'b', 'x', TTL), false);
      assert.equal(await store.compareAndSet(k, 'a', 'c', TTL), true);
      assert.equal(await store.get(k), 'c');
    });

    test('compareAndSet lets exactly one of many win', async () => {
      const k = key();
      await store.set(k, 'start', TTL);
      const wins = await Promise.all(
        Array.from({ length: 50 }, (_, i) => store.compareAndSet(k, 'start', `v${i}`, TTL)),
      );
      assert.equal(wins.filter(Boolean).length, 1);
    });

    test('compareAndTouch renews only for the holder', async () => {
      const k = key();
      await store.set(k, 'token', 300);
      assert.equal(await store.compareAndTouch(k, 'other', TTL), false);
      assert.equal(await store.compareAndTouch(k, 'token', TTL), true);
      assert.equal(await store.compareAndTouch(key(), 'token', TTL), false);
      const brief = key();
      await store.set(brief, 'x', 350);
      await gone(brief);
      assert.equal(await store.get(k), 'token');
    });

    test('compareAndDelete and delete say whether something went', async () => {
      const k = key();
      assert.equal(await store.compareAndDelete(k, 'a'), false);
      await store.set(k, 'a', TTL);
      assert.equal(await store.compareAndDelete(k, 'b'), false);
      assert.equal(await store.compareAndDelete(k, 'a'), true);
      assert.equal(await store.get(k), null);
      await store.set(k, 'a', TTL);
      assert.equal(await store.delete(k), true);
      assert.equal(await store.delete(k), false);
    });

    test('touch renews what is there, and only that', async () => {
      const k = key();
      assert.equal(await store.touch(k, TTL), false);
      await store.set(k, 'a', TTL);
      assert.equal(await store.touch(k, 20), true);
      await gone(k);
      assert.equal(await store.touch(k, TTL), false);
    });

    test('take gives a value to exactly one of many', async () => {
      const k = key();
      await store.set(k, 'once', TTL);
      const got = await Promise.all(Array.from({ length: 20 }, () => store.take(k)));
      assert.deepEqual(
        got.filter((v) => v !== null),
        ['once'],
      );
    });

    test('scan finds keys by prefix, taking no character for a pattern', async () => {
      const base = keyOf(tenant, 'scan');
      const odd = `${base}:[a]*?\\x:`;
      await store.set(`${odd}1`, 'v', TTL);
      await store.addToSet(`${odd}2`, 'm', 9, TTL);
      await store.append(`${odd}3`, 'e', 9, TTL);
      await store.set(`${base}:a*?\\x:no`, 'v', TTL);
      assert.deepEqual((await store.scan(odd)).sort(), [`${odd}1`, `${odd}2`, `${odd}3`]);
      assert.deepEqual(await store.scan(keyOf(`${tenant}-none`, '')), []);
    });

    test('a set takes members up to its cap', async () => {
      const k = key();
      assert.equal(await store.addToSet(k, 'a', 2, TTL), 'added');
      assert.equal(await store.addToSet(k, 'a', 2, TTL), 'present');
      assert.equal(await store.addToSet(k, 'b', 2, TTL), 'added');
      assert.equal(await store.addToSet(k, 'c', 2, TTL), 'full');
      assert.equal(await store.addToSet(k, 'b', 2, TTL), 'present');
      assert.deepEqual((await store.membersOf(k)).sort(), ['a', 'b']);
      assert.equal(await store.removeFromSet(k, 'a'), true);
      assert.equal(await store.removeFromSet(k, 'a'), false);
      assert.equal(await store.addToSet(k, 'c', 2, TTL), 'added');
      assert.deepEqual(await store.membersOf(key()), []);
      assert.equal(await store.removeFromSet(key(), 'a'), false);
    });

    test('a set never grows beyond its cap, however many add at once', async () => {
      const k = key();
      const results = await Promise.all(Array.from({ length: 40 }, (_, i) => store.addToSet(k, `m${i}`, 5, TTL)));
      assert.equal(results.filter((r) => r === 'added').length, 5);
      assert.equal((await store.membersOf(k)).length, 5);
    });

    test('a set without members is no key, and a set ends with its TTL', async () => {
      const k = key();
      await store.addToSet(k, 'a', 9, TTL);
      await store.removeFromSet(k, 'a');
      assert.equal(await store.touch(k, TTL), false);
      await store.addToSet(k, 'a', 9, 30);
      await eventually(async () => (await store.membersOf(k)).length === 0);
    });

    test('a log gives its entries in order, from where one asks', async () => {
      const k = key();
      const positions: string[] = [];
      for (const value of ['a', 'b', 'c', 'd']) positions.push(await store.append(k, value, 100, TTL));
      assert.equal(new Set(positions).size, 4);
      const values = (entries: readonly LogEntry[]) => entries.map((e) => e.value).join('');
      assert.deepEqual(
        (await store.read(k, '', 10)).map((e) => e.position),
        positions,
      );
      assert.equal(values(await store.read(k, positions[1]!, 10)), 'cd');
      assert.equal(values(await store.read(k, positions[3]!, 10)), '');
      assert.equal(values(await store.read(k, '', 2)), 'ab');
      assert.equal(values(await store.read(k, '', 0)), '');
      assert.deepEqual(await store.read(key(), '', 10), []);
    });

    test('a log keeps its last entries and ends with its TTL', async () => {
      const k = key();
      for (let i = 0; i < 30; i++) await store.append(k, String(i), 10, TTL);
      assert.deepEqual(
        (await store.read(k, '', 100)).map((e) => e.value),
        Array.from({ length: 10 }, (_, i) => String(20 + i)),
      );
      await store.touch(k, 20);
      await eventually(async () => (await store.read(k, '', 1)).length === 0);
    });

    test('a position that no log gave out is refused', async () => {
      for (const bad of ['abc', '1', '-', '5-', '1-2-3', '+', '99999999999999999999999-0']) {
        await assert.rejects(store.read(key(), bad, 1), (e) => isStateError(e, 'ERR_STATE_POSITION'), bad);
        assert.throws(
          () =>
            store.follow(
              key(),
              bad,
              () => undefined,
              () => undefined,
            ),
          (e) => isStateError(e, 'ERR_STATE_POSITION'),
        );
      }
    });

    test('a follower gets what was there and what comes, once and in order', async () => {
      const k = key();
      await store.append(k, '0', 2000, TTL);
      const got: string[] = [];
      const following = store.follow(k, '', (entry) => got.push(entry.value), assert.fail);
      const wanted = ['0'];
      for (let i = 1; i <= 600; i++) wanted.push(String(i));
      await Promise.all(wanted.slice(1).map((value) => store.append(k, value, 2000, TTL)));
      await eventually(() => got.length >= wanted.length);
      assert.deepEqual(got, wanted);
      following.close();
    });

    test('a follower starts after its position, on a log that is not there yet too', async () => {
      const k = key();
      const early: string[] = [];
      const first = store.follow(k, '', (entry) => early.push(entry.value), assert.fail);
      const position = await store.append(k, 'a', 100, TTL);
      await store.append(k, 'b', 100, TTL);
      const late: string[] = [];
      const second = store.follow(k, position, (entry) => late.push(entry.value), assert.fail);
      await store.append(k, 'c', 100, TTL);
      await eventually(() => early.length === 3 && late.length === 2);
      assert.deepEqual(
        [early, late],
        [
          ['a', 'b', 'c'],
          ['b', 'c'],
        ],
      );
      first.close();
      second.close();
    });

    test('a closed follower hears nothing more', async () => {
      const k = key();
      const got: string[] = [];
      const witness: string[] = [];
      const following = store.follow(k, '', (entry) => got.push(entry.value), assert.fail);
      const other = store.follow(k, '', (entry) => witness.push(entry.value), assert.fail);
      await store.append(k, 'a', 100, TTL);
      await eventually(() => got.length === 1);
      following.close();
      following.close();
      await store.append(k, 'b', 100, TTL);
      await eventually(() => witness.length === 2);
      assert.deepEqual(got, ['a']);
      other.close();
    });

    test('a follower that closes itself while it is told stops there', async () => {
      const k = key();
      for (const value of ['a', 'b', 'c']) await store.append(k, value, 100, TTL);
      const got: string[] = [];
      const witness: string[] = [];
      const following = store.follow(
        k,
        '',
        (entry) => {
          got.push(entry.value);
          if (entry.value === 'b') following.close();
        },
        assert.fail,
      );
      const other = store.follow(k, '', (entry) => witness.push(entry.value), assert.fail);
      await eventually(() => witness.length === 3);
      assert.deepEqual(got, ['a', 'b']);
      other.close();
    });

    test('an error of deliver ends that following, and is told once', async () => {
      const k = key();
      const errors: Error[] = [];
      store.follow(
        k,
        '',
        () => {
          throw new Error('mine');
        },
        (error) => errors.push(error),
      );
      const witness: string[] = [];
      const other = store.follow(k, '', (entry) => witness.push(entry.value), assert.fail);
      await store.append(k, 'a', 100, TTL);
      await store.append(k, 'b', 100, TTL);
      await eventually(() => witness.length === 2 && errors.length > 0);
      assert.deepEqual(
        errors.map((e) => e.message),
        ['mine'],
      );
      other.close();
    });

    test('a message reaches every subscriber of its channel, until it leaves', async () => {
      const [channel, otherChannel] = [key(), key()];
      const got: string[] = [];
      const listener = (message: string) => got.push(message);
      const leaveFirst = await store.subscribe(channel, listener);
      const leaveSecond = await store.subscribe(channel, listener);
      await store.publish(otherChannel, 'elsewhere');
      await store.publish(channel, 'one');
      await eventually(() => got.length === 2);
      await leaveFirst();
      await leaveFirst();
      await store.publish(channel, 'two');
      await eventually(() => got.length === 3);
      await leaveSecond();
      const leaveThird = await store.subscribe(otherChannel, listener);
      await store.publish(channel, 'three');
      await store.publish(otherChannel, 'four');
      await eventually(() => got.includes('four'));
      assert.deepEqual(got, ['one', 'one', 'two', 'four']);
      await leaveThird();
    });

    test('a subscriber that throws does not keep the others from hearing', async () => {
      const channel = key();
      const got: string[] = [];
      const leaveFirst = await store.subscribe(channel, () => {
        throw new Error('mine');
      });
      const leaveSecond = await store.subscribe(channel, (message) => got.push(message));
      await store.publish(channel, 'a');
      await eventually(() => got.length === 1);
      await leaveFirst();
      await leaveSecond();
    });

    test('a key of another kind is an error, not a value', async () => {
      const [text, set, log] = [key(), key(), key()];
      await store.set(text, 'v', TTL);
      await store.addToSet(set, 'm', 9, TTL);
      await store.append(log, 'e', 9, TTL);
      const wrong = (e: unknown) => isStateError(e, 'ERR_STATE_KIND');
      await assert.rejects(store.get(set), wrong);
      await assert.rejects(store.take(log), wrong);
      await assert.rejects(store.membersOf(text), wrong);
      await assert.rejects(store.addToSet(log, 'm', 9, TTL), wrong);
      await assert.rejects(store.append(text, 'e', 9, TTL), wrong);
      await assert.rejects(store.read(set, '', 1), wrong);
      await assert.rejects(store.compareAndSet(set, 'a', 'b', TTL), wrong);
      await store.set(log, 'now a text', TTL);
      assert.equal(await store.get(log), 'now a text');
    });
  });

  describe(`${kind} store, closed`, () => {
    test('refuses everything, and close is idempotent', async () => {
      const store = open();
      await store.set(keyOf(`t-${randomUUID()}`, 'k'), 'v', 1000);
      await store.close();
      await store.close();
      await assert.rejects(store.get('lk:{x}:k'), (e) => isStateError(e, 'ERR_STATE_CLOSED'));
    });
  });
}

test('keys carry the tenant as hash tag and escape what would split them', () => {
  assert.equal(keyOf('acme', 'sess', 'a:b{c}'), 'lk:{acme}:sess:a%3Ab%7Bc%7D');
  assert.equal(keyOf('', 'node'), 'lk:{}:node');
});
