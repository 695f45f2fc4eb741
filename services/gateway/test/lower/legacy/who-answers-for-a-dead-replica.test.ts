// HTTP+SSE: a replica took a POST and died, another holds the client's stream. Is each of its calls answered on it, once?
// (protocol.md §3.7, design §4)

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { eventually, within } from '../../../../../test/harness/eventually.ts';
import { holderKey, inFlightKey } from '../../../src/session/keys.ts';
import { type AskingNode, createAskingNode } from './asking-node.ts';
import { call, greeting, notification, post, reader, request, verb } from './client.ts';
import type { Rpc } from './follow.ts';
import { createWorld, held, type World } from './replicas.ts';

const FORM = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } };

describe('a replica that owed an answer dies', () => {
  let world: World;
  let node: AskingNode;
  let path: string;
  let session: string;
  let next: () => Promise<Rpc>;
  const leaving = new AbortController();

  beforeEach(async () => {
    world = await createWorld('redis');
    node = createAskingNode();
    world.upstream.answer = node.answer;
    const sent = { path: '/acme/everything/sse', accept: 'text/event-stream' };
    const stream = reader(await verb('GET', world.replicas[1], sent, leaving.signal));
    session = (await stream.next())?.data?.split('sessionId=')[1] ?? '';
    path = `/acme/everything/messages?sessionId=${session}`;
    next = async () => JSON.parse((await within(stream.next(), 8_000, 'a message'))?.data ?? 'null') as Rpc;
    await post(world.replicas[1], greeting('2025-06-18', { elicitation: {} }), { path });
    await next();
    await post(world.replicas[1], notification('notifications/initialized'), { path });
  });
  afterEach(() => world.close());

  const send = async (at: 0 | 1, body: unknown) =>
    assert.equal((await post(world.replicas[at], body, { path })).status, 202);
  const nothingElse = async () => {
    await send(1, request('last', 'ping'));
    assert.equal((await next()).id, 'last');
  };

  test('the exchange runs on: its progress goes on where it was, and its result comes', async () => {
    let go!: () => void;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    node.script('slow', async (running) => {
      running.progress(1);
      await gate;
      running.progress(2);
      return 'done';
    });
    await send(0, call(5, 'slow', { progressToken: 't' }));
    assert.equal((await next()).params?.progress, 1);
    const entered = () => world.stores.at(-1)!.membersOf(inFlightKey('acme', session));
    await eventually(async () => assert.equal((await entered()).length, 1));
    await world.replicas[0].kill();
    go();
    assert.equal((await next()).params?.progress, 2);
    const answered = await next();
    assert.deepEqual([answered.id, answered.result?.content[0]?.text], [5, 'done']);
    assert.deepEqual(node.begun, ['slow']);
    await nothingElse();
    await eventually(async () => {
      const store = world.stores.at(-1)!;
      assert.deepEqual(await store.scan(`lk:{acme}:sess:${session}:call:`), []);
      assert.deepEqual(await store.membersOf(inFlightKey('acme', session)), []);
    });
  });

  for (const answered of ['before', 'after'] as const) {
    test(`what it asked and is answered ${answered} the other has taken over, is asked once and answered once`, async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      await send(0, call(6, 'ask'));
      const question = await next();
      assert.equal(question.method, 'elicitation/create');
      await world.replicas[0].kill();
      const taken = () => world.upstream.seen.filter(({ ask }) => ask.wait === true).length > 1;
      if (answered === 'after') await eventually(taken, { deadlineMs: 8_000 });
      await send(1, { jsonrpc: '2.0', id: question.id, result: { action: 'accept' } });
      const said = await next();
      assert.deepEqual([said.id, said.result?.content[0]?.text], [6, '{"action":"accept"}']);
      assert.deepEqual([node.begun, node.got.length], [['ask'], 1]);
      await nothingElse();
    });
  }

  test('the exchange is gone with it: it is said that it may have run in part, and nothing is begun again', async () => {
    node.script('slow', async (running) => {
      running.progress(1);
      return await new Promise<string>(() => undefined);
    });
    await send(0, call(7, 'slow', { progressToken: 't' }));
    await next();
    world.upstream.answer = createAskingNode().answer;
    await world.replicas[0].kill();
    const lost = await next();
    assert.deepEqual([lost.id, lost.result?.isError], [7, true]);
    assert.match(lost.result?.content[0]?.text ?? '', /may have run in part/);
    assert.deepEqual(node.begun, ['slow']);
  });

  test('nothing is kept of it any more: it is answered all the same', async () => {
    node.script('slow', async (running) => {
      running.progress(1);
      return await new Promise<string>(() => undefined);
    });
    await send(0, call(8, 'slow', { progressToken: 't' }));
    await next();
    await world.replicas[0].kill();
    const store = world.stores.at(-1)!;
    for (const key of await store.scan(`lk:{acme}:sess:${session}:call:`)) await store.delete(key);
    const lost = await next();
    assert.deepEqual([lost.id, lost.result?.isError], [8, true]);
  });

  test('it was only paused: what it says when it wakes comes once', async () => {
    let go!: () => void;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    node.script('slow', async (running) => {
      running.progress(1);
      await gate;
      running.progress(2);
      return 'done';
    });
    await send(0, call(9, 'slow', { progressToken: 't' }));
    assert.equal((await next()).params?.progress, 1);
    const store = world.stores.at(-1)!;
    for (const key of await store.scan('lk:{}:replica:')) await store.delete(key);
    await eventually(() => world.upstream.seen.some(({ ask }) => ask.wait === true), { deadlineMs: 8_000 });
    go();
    assert.equal((await next()).params?.progress, 2);
    assert.equal((await next()).id, 9);
    await nothingElse();
  });

  test('it drains: the call is handed over at once', async () => {
    node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
    await send(0, call(10, 'ask'));
    const question = await next();
    await world.replicas[0].leg.close(0);
    await send(1, { jsonrpc: '2.0', id: question.id, result: { action: 'accept' } });
    assert.equal((await next()).id, 10);
    assert.deepEqual(world.upstream.cancelled, []);
  });

  test('the holder dies instead: the session is over, and the call is cancelled', async () => {
    const slow = held();
    world.upstream.answer = slow.answer;
    await send(0, call(11, 'slow'));
    await slow.started;
    const { signal } = world.upstream.seen.at(-1)!.exchange;
    await world.replicas[1].kill();
    // As its lease would end.
    await world.stores[0]!.delete(holderKey('acme', session));
    await eventually(() => signal.aborted, { deadlineMs: 10_000 });
  });
});
