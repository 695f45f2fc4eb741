// The admin port: whoever reaches it may look; only who shows the token may have something done.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { createAdminServer } from '../../src/operator/admin.ts';
import type { Order, Whom } from '../../src/operator/contract.ts';

const TOKEN = 'a-token-of-the-operator';
const orders: [Order, Whom][] = [];
const state = { token: TOKEN as string | undefined };
const registry = { contentType: 'text/plain', metrics: async () => 'numbers 1\n' };
const plain = { registry, notReady: () => [], started: () => true, token: () => state.token };
const admin = createAdminServer({
  ...plain,
  pools: {
    list: () => ({ processes: [{ id: 'a-1' }] }),
    order(order, whom) {
      orders.push([order, whom]);
      return 'id' in whom && whom.id === 'unknown' ? [] : ['a-1'];
    },
  },
});
const bare = createAdminServer(plain);
const url = `http://127.0.0.1:${await admin.listen('127.0.0.1', 0)}`;
const bareUrl = `http://127.0.0.1:${await bare.listen('127.0.0.1', 0)}`;
after(() => Promise.all([admin.close(), bare.close()]));
beforeEach(() => {
  orders.length = 0;
  state.token = TOKEN;
});

function post(path: string, body: unknown, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }) {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

test('the list is open, as the metrics are', async () => {
  assert.deepEqual(await (await fetch(`${url}/pools`)).json(), { processes: [{ id: 'a-1' }] });
});

test('an order with the token is carried out, for one or for a server', async () => {
  const whoms: Whom[] = [{ id: 'a-1' }, { tenant: 'acme', server: 's' }];
  for (const order of ['restart', 'drain', 'evict'] as const) {
    for (const whom of whoms) {
      const answer = await post(`/pools/${order}`, whom);
      assert.deepEqual([answer.status, await answer.json()], [200, { order, processes: ['a-1'] }]);
    }
  }
  assert.equal(orders.length, 6);
  assert.deepEqual(orders[3], ['drain', { tenant: 'acme', server: 's' }]);
});

describe('nothing is done', () => {
  for (const [why, path, body, headers, status] of [
    ['without the token', '/pools/evict', { id: 'a-1' }, {}, 401],
    ['with another', '/pools/evict', { id: 'a-1' }, { authorization: `Bearer ${TOKEN}x` }, 401],
    ['with it in another scheme', '/pools/evict', { id: 'a-1' }, { authorization: `Basic ${TOKEN}` }, 401],
    ['to nobody in particular', '/pools/evict', {}, undefined, 400],
    ['to one and to all at once', '/pools/evict', { id: 'a-1', tenant: 'acme', server: 's' }, undefined, 400],
    ['to a tenant as a whole', '/pools/evict', { tenant: 'acme' }, undefined, 400],
    ['by what is no JSON', '/pools/evict', '{', undefined, 400],
    ['by an unknown order', '/pools/kill', { id: 'a-1' }, undefined, 404],
  ] as const) {
    test(why, async () => {
      assert.equal((await post(path, body, headers)).status, status);
      assert.deepEqual(orders, []);
    });
  }

  test('on a node whose configuration has no token, from nowhere', async () => {
    state.token = undefined;
    const answer = await post('/pools/evict', { id: 'a-1' });
    assert.equal(answer.status, 403);
    assert.match(JSON.stringify(await answer.json()), /set listen\.adminToken/);
    assert.deepEqual(orders, []);
  });

  test('by a GET, which any page can cause', async () => {
    assert.equal((await fetch(`${url}/pools/evict`)).status, 404);
  });
});

test('what is not there is 404', async () => {
  assert.equal((await post('/pools/drain', { id: 'unknown' })).status, 404);
});

test('a service without processes has no such paths', async () => {
  assert.equal((await fetch(`${bareUrl}/pools`)).status, 404);
  assert.equal((await fetch(`${bareUrl}/metrics`)).status, 200);
});
