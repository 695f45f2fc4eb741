// Field cases of class SSE with remote servers: is every event passed on as it comes, is a stream kept, resumed and given up
// as its server says, and is a body that is not what it says to be nobody's problem but its own request's?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { eventually, within } from '../harness/eventually.ts';
import { legacyRequest, modernRequest, openLegacySession } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { messagesIn } from '../harness/raw-sse.ts';
import type { Stream } from '../servers/http/raw-reply.ts';
import type { Seen } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage } from './remote-stage.ts';
import { asker, assertCalm, call, ERAS, type Json, modernAsker, namesOf, textOf } from './stage.ts';

const result = (seen: Seen, text: string) => ({
  jsonrpc: '2.0',
  id: seen.message?.id,
  result: { content: [{ type: 'text', text }] },
});

let stage: RemoteStage<'asks' | 'quiet' | 'slow' | 'pings' | 'coded' | 'broken' | 'resumed' | 'endless'>;
/** So that what does not end fails. */
const more = { callTimeoutMs: 20_000 };

before(async () => {
  stage = await openRemoteStage(
    {
      asks: { kind: 'legacy', more },
      quiet: { kind: 'legacy' },
      slow: { kind: 'legacy', http: { headersMs: 300, idleStreamMs: 1_000 }, more },
      pings: { kind: 'legacy', more },
      coded: { kind: 'modern', more },
      broken: { kind: 'legacy', more },
      resumed: { kind: 'legacy', more },
      endless: { kind: 'modern', more },
    },
    { limits: { keepAliveMs: 1_000, maxLineBytes: 1024 * 1024, maxResultBytes: 1024 * 1024 } },
  );
});
after(async () => {
  await stage?.stop();
});

describe('GB-072: a reply that goes on while it is asked', () => {
  it('brings its progress and its question before its end, and its end after the answer', async () => {
    const { asks } = stage.up;
    let stream: Stream | undefined;
    asks.when('tools/call', (reply, seen) => {
      stream = reply.stream();
      const token = (seen.message?.params?._meta as Json | undefined)?.progressToken;
      stream.event({
        data: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress: 1 } },
      });
      asks.when('response', (accepted, { message }) => {
        accepted.body(202, {});
        const { content } = message!.result as { content: Json };
        stream!.event({ data: result(seen, `it was ${content.colour}`) });
        stream!.end();
      });
    });
    const url = stage.at('asks');
    const { session } = await openLegacySession(url, { capabilities: { elicitation: {} } });
    const params = { name: 'echo', arguments: {}, _meta: { progressToken: 'p' } };
    const message = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params };
    const response = await sendRaw(url, legacyRequest({ session: session!, revision: '2025-11-25', message }));
    const messages = messagesIn(response.events());
    const next = async () => (await within(messages.next(), 10_000, 'a message')).value as Json;
    assert.equal((await next()).method, 'notifications/progress');
    // Only now: nothing of it was held back until there was more.
    const requestedSchema = { type: 'object', properties: { colour: { type: 'string' } } };
    const asked = { method: 'elicitation/create', params: { message: 'Which?', requestedSchema } };
    stream!.event({ data: { jsonrpc: '2.0', id: 'q', ...asked } });
    const question = await next();
    assert.equal(question.method, 'elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { colour: 'grün' } } };
    const accepted = await sendRaw(url, legacyRequest({ session: session!, revision: '2025-11-25', message: answer }));
    accepted.destroy();
    assert.match(JSON.stringify((await next()).result), /it was grün/);
    response.destroy();
    asks.behave();
  });
});

describe('GB-073: an idle stream', () => {
  it('of a server that says nothing on it is no failure: news come when they come', async () => {
    const { quiet } = stage.up;
    let stream: Stream | undefined;
    quiet.when('GET', (reply) => {
      stream = reply.stream();
    });
    const params = { notifications: { toolsListChanged: true } };
    const response = await sendRaw(
      stage.at('quiet'),
      modernRequest({ method: 'subscriptions/listen', id: 'quiet', params }),
    );
    assert.equal(response.status, 200);
    const events = response.events();
    const read = async () => (await within(events.next(), 15_000, 'an event')).value!;
    await eventually(() => stream !== undefined);
    for (let comments = 0; comments < 3; ) if ((await read()).comment !== undefined) comments += 1;
    stream!.comment('still here');
    stream!.event({ data: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } });
    let news = await read();
    while (!news.data?.includes('list_changed')) news = await read();
    assert.equal(quiet.of('GET').length, 1);
    response.destroy();
    quiet.behave();
  });
});

describe('GB-075: a call that is silent for longer than a connection usually waits', () => {
  for (const era of ERAS) {
    it(`is waited for, as JSON and as a stream, for a ${era} client`, async () => {
      const { slow } = stage.up;
      const ask = await asker(era, stage.at('slow'));
      await ask('tools/list');
      for (const streamed of [false, true]) {
        slow.when(
          'tools/call',
          (reply, seen) => {
            const stream = streamed ? reply.stream() : null;
            setTimeout(() => {
              stream?.event({ data: result(seen, 'late') });
              if (stream) stream.end();
              else reply.json(result(seen, 'late'));
            }, 700);
          },
          1,
        );
        assert.equal(textOf(await call(ask, 'echo')), 'late');
      }
    });
  }
});

describe('GB-076: pings of a server', () => {
  it('on its own stream are answered, whatever their id, and reach no client', async () => {
    const { pings } = stage.up;
    let stream: Stream | undefined;
    pings.when('GET', (reply) => {
      stream = reply.stream();
    });
    const ask = modernAsker(stage.at('pings'));
    await ask('tools/list');
    await eventually(() => stream !== undefined);
    for (const id of [0, 1, 'a string']) stream!.event({ data: { jsonrpc: '2.0', id, method: 'ping' } });
    const answers = () => pings.of('response').map(({ message }) => [message?.id, message?.result]);
    await eventually(() => answers().length === 3);
    assert.deepEqual(
      answers().sort(([a], [b]) => String(a).localeCompare(String(b))),
      [
        [0, {}],
        [1, {}],
        ['a string', {}],
      ],
    );
    const { before: told, ...answer } = await call(ask, 'echo', { n: 1 });
    assert.match(textOf({ ...answer, before: told }), /"n":1/);
    assert.deepEqual(told, []);
    pings.behave();
  });
});

describe('GB-077: a body that is not what it seems', () => {
  const body = (seen: Seen) => Buffer.from(JSON.stringify({ ...result(seen, 'x'), resultType: undefined }));
  const json = { 'content-type': 'application/json' };
  it('compressed bodies are not asked for', async () => {
    await call(modernAsker(stage.at('coded')), 'echo', {}, { headers: { 'accept-encoding': 'gzip, br' } });
    for (const { headers } of stage.up.coded.seen) {
      assert.doesNotMatch(headers['accept-encoding'] ?? 'identity', /gzip|br|deflate/);
    }
  });

  for (const [what, spoil] of [
    ['compressed unasked (gzip)', (seen: Seen) => [{ 'content-encoding': 'gzip' }, gzipSync(body(seen))] as const],
    [
      'compressed unasked (br)',
      (seen: Seen) => [{ 'content-encoding': 'br' }, brotliCompressSync(body(seen))] as const,
    ],
    ['with other bytes than its header says', (seen: Seen) => [{ 'content-encoding': 'gzip' }, body(seen)] as const],
    ['that is no JSON', () => [{}, Buffer.from('<html>')] as const],
    ['of another type', (seen: Seen) => [{ 'content-type': 'text/html' }, body(seen)] as const],
    ['that holds another answer', () => [{}, Buffer.from('{"jsonrpc":"2.0","id":999999,"result":{}}')] as const],
  ] as const) {
    it(`${what}: is an error of that call, with its id, and the next call is fine`, async () => {
      const ask = modernAsker(stage.at('coded'));
      stage.up.coded.when(
        'tools/call',
        (reply, seen) => {
          const [headers, bytes] = spoil(seen);
          reply.body(200, { ...json, ...headers }, bytes);
        },
        1,
      );
      const answer = await call(ask, 'echo', {}, { id: 'spoilt' });
      assert.equal(answer.message?.id, 'spoilt');
      assert.ok(answer.error !== undefined || answer.result?.isError === true);
      assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
    });
  }

  it('that ends before its length is reached: as well', async () => {
    const ask = modernAsker(stage.at('coded'));
    stage.up.coded.when(
      'tools/call',
      (reply, seen) => {
        reply.raw.writeHead(200, { ...json, 'content-length': '100000' });
        reply.raw.write(body(seen));
        setTimeout(() => reply.raw.socket?.destroy(), 50);
      },
      1,
    );
    const answer = await call(ask, 'echo');
    assert.match(textOf(answer), /may have run/);
    assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
  });

  it('that does not end is cut off at the limit, and its memory is not kept', async () => {
    const ask = modernAsker(stage.at('endless'));
    let written = 0;
    stage.up.endless.when(
      'tools/call',
      (reply) => {
        reply.raw.writeHead(200, json);
        const piece = Buffer.alloc(64 * 1024, ' ');
        const more = () => {
          while (written < 64 * 1024 * 1024 && !reply.raw.destroyed) {
            written += piece.length;
            if (!reply.raw.write(piece)) return void reply.raw.once('drain', more);
          }
        };
        more();
      },
      1,
    );
    const answer = await call(ask, 'echo');
    assert.ok(answer.error !== undefined || answer.result?.isError === true);
    assert.ok(written < 32 * 1024 * 1024, `${written} bytes were read`);
    assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
  });
});

describe('a reply whose stream breaks', () => {
  it('before any event id: is lost, may have run, and is not sent again', async () => {
    const { broken } = stage.up;
    const ask = modernAsker(stage.at('broken'));
    await ask('tools/list');
    broken.when('tools/call', (reply) => {
      const stream = reply.stream();
      stream.comment('begun');
      setTimeout(stream.cut, 50);
    });
    assert.match(textOf(await call(ask, 'echo')), /may have run/);
    assert.equal(broken.of('tools/call').length, 1);
    broken.behave();
  });

  for (const era of ERAS) {
    it(`after an event id: is taken up where it was left, in the time that the server says, for a ${era} client`, async () => {
      const { resumed } = stage.up;
      const ask = await asker(era, stage.at('resumed'));
      assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
      const calls = resumed.of('tools/call').length;
      resumed.when('tools/call', (reply, seen) => {
        const stream = reply.stream();
        stream.event({ id: 'e-7', retry: 100 });
        stream.end();
        resumed.when('GET', (again, { headers }) => {
          if (headers['last-event-id'] !== 'e-7') return void again.stream();
          const rest = again.stream();
          rest.event({ id: 'e-8', data: result(seen, 'resumed') });
          rest.end();
        });
      });
      assert.equal(textOf(await call(ask, 'echo')), 'resumed');
      assert.equal(resumed.of('tools/call').length, calls + 1);
      resumed.behave();
    });
  }
});

it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
