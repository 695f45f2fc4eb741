// The store contract, part one: texts, their conditions and their ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { isStateError } from '../../src/errors.ts';
import { keyOf } from '../../src/store.ts';
import { type Bench, TTL } from './bench.ts';

export function texts({ store, key, tenant, kind, gone }: Bench): void {
  test('says which one it is and that it is reachable', async () => {
    assert.equal(await store().get(key()), null);
    assert.equal(store().kind, kind);
    assert.equal(store().reachable(), true);
  });

  test('keeps a text, any text, until its TTL', async () => {
    const k = key();
    for (const value of ['', 'plain', 'line\nbreak \u0000 ünï 😀', 'x'.repeat(300_000)]) {
      await store().set(k, value, TTL);
      assert.equal(await store().get(k), value);
    }
    await store().set(k, 'short', 30);
    await gone(k);
  });

  test('a later set replaces value and TTL', async () => {
    const k = key();
    await store().set(k, 'a', 1);
    await store().set(k, 'b', TTL);
    const brief = key();
    await store().set(brief, 'x', 40);
    await gone(brief);
    assert.equal(await store().get(k), 'b');
  });

  test('reads many keys in the order asked, null for the absent', async () => {
    const [a, b, c] = [key(), key(), key()];
    await store().set(a, '1', TTL);
    await store().set(c, '3', TTL);
    assert.deepEqual(await store().getMany([c, b, a, a]), ['3', null, '1', '1']);
    assert.deepEqual(await store().getMany([]), []);
  });

  test('refuses a TTL that is no positive number', async () => {
    for (const ttl of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const k = key();
      await assert.rejects(store().set(k, 'v', ttl), TypeError);
      await assert.rejects(store().setIfAbsent(k, 'v', ttl), TypeError);
      await assert.rejects(store().compareAndSet(k, 'v', 'w', ttl), TypeError);
      await assert.rejects(store().compareAndTouch(k, 'v', ttl), TypeError);
      await assert.rejects(store().touch(k, ttl), TypeError);
      await assert.rejects(store().addToSet(k, 'v', 1, ttl), TypeError);
      await assert.rejects(store().append(k, 'v', 1, ttl), TypeError);
      assert.equal(await store().get(k), null);
    }
  });

  test('setIfAbsent lets exactly one of many win', async () => {
    const k = key();
    const wins = await Promise.all(Array.from({ length: 50 }, (_, i) => store().setIfAbsent(k, String(i), TTL)));
    assert.equal(wins.filter(Boolean).length, 1);
    assert.equal(await store().get(k), String(wins.indexOf(true)));
  });

  test('setIfAbsent wins again after expiry', async () => {
    const k = key();
    assert.equal(await store().setIfAbsent(k, 'a', 30), true);
    await eventually(() => store().setIfAbsent(k, 'b', TTL));
    assert.equal(await store().get(k), 'b');
  });

  test('compareAndSet replaces only what is expected', async () => {
    const k = key();
    assert.equal(await store().compareAndSet(k, '', 'x', TTL), false);
    await store().set(k, 'a', TTL);
    assert.equal(await store().compareAndSet(k, 'b', 'x', TTL), false);
    assert.equal(await store().compareAndSet(k, 'a', 'c', TTL), true);
    assert.equal(await store().get(k), 'c');
  });

  test('compareAndSet lets exactly one of many win', async () => {
    const k = key();
    await store().set(k, 'start', TTL);
    const wins = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store().compareAndSet(k, 'start', `v${i}`, TTL)),
    );
    assert.equal(wins.filter(Boolean).length, 1);
  });

  test('compareAndTouch renews only for the holder', async () => {
    const k = key();
    await store().set(k, 'token', 300);
    assert.equal(await store().compareAndTouch(k, 'other', TTL), false);
    assert.equal(await store().compareAndTouch(k, 'token', TTL), true);
    assert.equal(await store().compareAndTouch(key(), 'token', TTL), false);
    const brief = key();
    await store().set(brief, 'x', 350);
    await gone(brief);
    assert.equal(await store().get(k), 'token');
  });

  test('compareAndDelete and delete say whether something went', async () => {
    const k = key();
    assert.equal(await store().compareAndDelete(k, 'a'), false);
    await store().set(k, 'a', TTL);
    assert.equal(await store().compareAndDelete(k, 'b'), false);
    assert.equal(await store().compareAndDelete(k, 'a'), true);
    assert.equal(await store().get(k), null);
    await store().set(k, 'a', TTL);
    assert.equal(await store().delete(k), true);
    assert.equal(await store().delete(k), false);
  });

  test('touch renews what is there, and only that', async () => {
    const k = key();
    assert.equal(await store().touch(k, TTL), false);
    await store().set(k, 'a', TTL);
    assert.equal(await store().touch(k, 20), true);
    await gone(k);
    assert.equal(await store().touch(k, TTL), false);
  });

  test('take gives a value to exactly one of many', async () => {
    const k = key();
    await store().set(k, 'once', TTL);
    const got = await Promise.all(Array.from({ length: 20 }, () => store().take(k)));
    assert.deepEqual(
      got.filter((v) => v !== null),
      ['once'],
    );
  });

  test('scan finds keys by prefix, taking no character for a pattern', async () => {
    const base = keyOf(tenant, 'scan');
    const odd = `${base}:[a]*?\\x:`;
    await store().set(`${odd}1`, 'v', TTL);
    await store().addToSet(`${odd}2`, 'm', 9, TTL);
    await store().append(`${odd}3`, 'e', 9, TTL);
    await store().set(`${base}:a*?\\x:no`, 'v', TTL);
    assert.deepEqual((await store().scan(odd)).sort(), [`${odd}1`, `${odd}2`, `${odd}3`]);
    assert.deepEqual(await store().scan(keyOf(`${tenant}-none`, '')), []);
  });

  test('a key of another kind is an error, not a value', async () => {
    const [text, set, log] = [key(), key(), key()];
    await store().set(text, 'v', TTL);
    await store().addToSet(set, 'm', 9, TTL);
    await store().append(log, 'e', 9, TTL);
    const wrong = (e: unknown) => isStateError(e, 'ERR_STATE_KIND');
    await assert.rejects(store().get(set), wrong);
    await assert.rejects(store().take(log), wrong);
    await assert.rejects(store().membersOf(text), wrong);
    await assert.rejects(store().addToSet(log, 'm', 9, TTL), wrong);
    await assert.rejects(store().append(text, 'e', 9, TTL), wrong);
    await assert.rejects(store().read(set, '', 1), wrong);
    await assert.rejects(store().compareAndSet(set, 'a', 'b', TTL), wrong);
    await store().set(log, 'now a text', TTL);
    assert.equal(await store().get(log), 'now a text');
  });
}
