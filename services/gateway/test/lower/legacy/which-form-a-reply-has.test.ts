// JSON or a stream: what decides, and what comes on the stream? (protocol.md §3.2)

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BOTH, call, events, open, post, reader, request, verb } from './client.ts';
import { a, json, useOneWorld, world } from './one-world.ts';
import { held, result, text } from './replicas.ts';

useOneWorld();

describe('the form of the reply', () => {
  const ACCEPTS: readonly [accept: string, status: number, type: string][] = [
    [BOTH, 200, 'application/json'],
    ['*/*', 200, 'application/json'],
    ['application/json', 200, 'application/json'],
    ['APPLICATION/JSON', 200, 'application/json'],
    ['application/json;q=0.9, text/event-stream;q=0.1', 200, 'application/json'],
    ['text/event-stream', 200, 'text/event-stream'],
    ['text/html', 406, 'application/json'],
    ['application/json;q=0', 406, 'application/json'],
  ];
  for (const [accept, status, type] of ACCEPTS) {
    test(`GB-147: Accept ${accept}: ${status} ${type}`, async () => {
      const session = await open(a);
      const answer = await post(a, call(1, 'echo'), { session, accept });
      assert.equal(answer.status, status);
      assert.ok(answer.headers.get('content-type')?.startsWith(type));
      await answer.text();
    });
  }

  const progress = (n: number) => text(`"progress":${n}`);

  test('events come on the call’s own stream with the client’s token, then the response', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, _ask, listener) => {
      listener.event('notifications/progress', progress(1));
      listener.event('notifications/message', text('"level":"info","data":1'));
      listener.event('notifications/progress', progress(2));
      return result('"content":[]');
    };
    const answer = await post(a, call('c', 't', { progressToken: '1' }), { session });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    const got = (await events(answer)).map((e) => JSON.parse(e.data!) as unknown);
    const note = (n: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: '1', progress: n },
    });
    assert.deepEqual(got, [note(1), note(2), { jsonrpc: '2.0', id: 'c', result: { content: [] } }]);
  });

  test('GB-084: without a token nothing streams', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, _ask, listener) => {
      listener.event('notifications/progress', progress(1));
      return result('"content":[]');
    };
    const answer = await post(a, call(1, 't'), { session });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    await answer.text();
  });

  test('a client that takes only JSON gets only the response', async () => {
    const session = await open(a);
    world.upstream.answer = async (_exchange, ask, listener) => {
      listener.event('notifications/progress', progress(1));
      return result(`"content":[{"type":"text","text":"${ask.progress}"}]`);
    };
    const body = await json(await post(a, call(1, 't', { progressToken: 1 }), { session, accept: 'application/json' }));
    assert.deepEqual(body.result?.content, [{ type: 'text', text: 'false' }]);
  });

  test('GB-075: a slow call becomes a stream before it is answered', async () => {
    const session = await open(a);
    const slow = held();
    world.upstream.answer = slow.answer;
    const answer = await post(a, call(1, 'slow'), { session });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    slow.release(result('"content":[]'));
    assert.deepEqual(
      (await events(answer)).map((e) => JSON.parse(e.data!) as unknown),
      [{ jsonrpc: '2.0', id: 1, result: { content: [] } }],
    );
  });

  test('a disconnect is not a cancel: the call goes on', async () => {
    const session = await open(a);
    const slow = held();
    world.upstream.answer = slow.answer;
    const leaving = new AbortController();
    const gone = post(a, call(1, 'slow'), { session }, leaving.signal);
    await slow.started;
    const { exchange } = world.upstream.seen.at(-1)!;
    leaving.abort();
    await assert.rejects(gone);
    // Another request on the same replica is served after the socket's end has been seen.
    await (await post(a, request(2, 'ping'), { session })).text();
    assert.equal(exchange.signal.aborted, false);
    slow.release(result('"content":[]'));
  });

  test('the standalone stream is primed for 2025-11-25 only', async () => {
    for (const [revision, primed] of [
      ['2025-11-25', true],
      ['2025-06-18', false],
    ] as const) {
      const session = await open(a, revision);
      const stop = new AbortController();
      const stream = await verb('GET', a, { session, accept: 'text/event-stream' }, stop.signal);
      const heard = reader(stream);
      if (primed) {
        const first = await heard.next();
        assert.equal(first?.data, '');
        assert.match(first?.id ?? '', /^g[0-9a-f]{16}-0-0$/);
        assert.equal(first?.retry, '1000');
      }
      assert.equal((await verb('DELETE', a, { session })).status, 204);
      assert.equal(await heard.next(), null);
    }
  });

  test('GET for something else than a stream is 406', async () => {
    const session = await open(a);
    assert.equal((await verb('GET', a, { session, accept: 'text/html' })).status, 406);
  });
});
