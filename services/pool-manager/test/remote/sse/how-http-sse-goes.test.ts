// How is a server of 2024-11-05 spoken to? (protocol.md §4.5)

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { endpointOf } from '../../../src/remote/sse/endpoint.ts';
import {
  createSession,
  event,
  events,
  INITIALIZE,
  INITIALIZED,
  introduced,
  json,
  result,
  type SessionStage,
  type StageOptions,
  type Told,
} from '../session-stage.ts';

interface Parts {
  endpoint?: string | null;
  post?(told: Told, response: ServerResponse, say: (text: string) => void): void;
}

describe('how HTTP+SSE goes', () => {
  let stage: SessionStage | null = null;
  let stream: ServerResponse | null = null;

  const open = async ({ endpoint = '/messages?sessionId=7', post }: Parts = {}, options: StageOptions = {}) => {
    stream = null;
    stage = await createSession(
      'sse',
      (told, response) => {
        if (told.verb === 'GET') {
          events(response);
          stream = response;
          if (endpoint !== null) response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
          return;
        }
        if (post !== undefined) return post(told, response, (text) => void stream?.write(text));
        response.writeHead(202).end('Accepted');
        if (told.message.method === 'initialize') stream?.write(event(introduced(told.message.id, '2024-11-05')));
        else if (told.message.id !== undefined && told.message.method) stream?.write(event(result(told.message.id)));
      },
      { path: '/sse', ...options },
    );
    return stage;
  };
  const call = (id: number) => ({ id, method: 'tools/call', params: { name: 'add' } });

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  it('GET, the endpoint, POSTs there, answers on the stream', async () => {
    const s = await open();
    s.sends(INITIALIZE);
    await s.answerTo(1);
    s.sends(INITIALIZED);
    s.sends(call(2));
    const { of } = await s.answerTo(2);
    assert.equal(of, undefined);
    assert.deepEqual(
      s.told.map(({ verb, path }) => [verb, path]),
      [['GET', '/sse'], ...Array.from({ length: 3 }, () => ['POST', '/messages?sessionId=7'])],
    );
    assert.deepEqual(
      s.told.slice(1).map(({ message }) => message.method),
      ['initialize', 'notifications/initialized', 'tools/call'],
    );
    assert.equal(s.told[1]!.headers['content-type'], 'application/json');
  });

  it('the stream is lost: so is the session, and what is open may have run', async () => {
    const s = await open({ post: (_told, response) => void response.writeHead(202).end() });
    s.sends(call(1));
    await eventually(() => s.told.length === 2);
    stream!.end();
    assert.equal((await s.ended()).kind, 'session-ended');
    assert.deepEqual(
      s.failures.map(({ id, kind, mayHaveRun }) => [id, kind, mayHaveRun]),
      [[1, 'session', true]],
    );
    assert.equal(s.sends(call(2)), false);
  });

  it('404 to a message: the session is gone, and the message has not run', async () => {
    const s = await open({ post: (_told, response) => void response.writeHead(404).end() });
    s.sends(call(1));
    assert.equal((await s.ended()).kind, 'session-ended');
    assert.deepEqual(
      s.failures.map(({ kind, mayHaveRun }) => [kind, mayHaveRun]),
      [['session', false]],
    );
  });

  it('a reply to a POST that comes when the call is done is waited for, however short http.headersMs', async () => {
    let say = (_text: string) => {};
    const post: Parts['post'] = ({ message }, _response, onStream) => {
      say = onStream;
      // A notification that gets no reply at all shows when the time was over.
      assert.ok(message.id === 1 || message.method === 'notifications/progress');
    };
    const s = await open({ post }, { http: { headersMs: 100 } });
    s.sends(call(1));
    await eventually(() => s.told.length === 2);
    s.sends({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
    await eventually(() => s.told.length === 3);
    await s.told[2]!.aborted;
    say(event(result(1)));
    await s.answerTo(1);
    assert.deepEqual([s.failures, s.child.exited], [[], null]);
  });

  it('it asks and does not take the answers: its session ends', async () => {
    const s = await open({ post: () => {} });
    await eventually(() => s.told.length === 1);
    for (let id = 0; id < 400; id++) s.sends({ id: `q${id}`, result: {} });
    const { kind, words } = await s.ended();
    assert.deepEqual([kind, words], ['stopped', 'it asks faster than it takes the answers']);
  });

  it('another refusal fails that message alone', async () => {
    const s = await open({
      post: ({ message }, response, say) => {
        if (message.id === 1) return void response.writeHead(500).end();
        if (message.id === 2) {
          return json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } }, 400);
        }
        response.writeHead(202).end();
        say(event(result(message.id)));
      },
    });
    for (const id of [1, 2, 3]) s.sends(call(id));
    assert.equal((await s.failureOf(1)).kind, 'lost');
    assert.equal((await s.answerTo(2)).message.error.code, -32600);
    await s.answerTo(3);
  });

  it('an answer over the cap fails its request, and the stream goes on', async () => {
    const s = await open(
      {
        post: ({ message }, response, say) => {
          response.writeHead(202).end();
          say(event(result(message.id, message.id === 1 ? { large: 'x'.repeat(5000) } : {})));
        },
      },
      { maxLineBytes: 2000 },
    );
    s.sends(call(1));
    await eventually(() => s.faults.length === 1);
    assert.match(s.faults[0]!, /^line-too-long 1 /);
    s.sends(call(2));
    await s.answerTo(2);
  });

  it('what never names an endpoint has not started', async () => {
    let run = () => {};
    const clock = {
      now: () => Date.now(),
      setTimer: (ms: number, then: () => void) => {
        if (ms === 5_000) run = then;
        return { clear: () => {} };
      },
    };
    const s = await open({ endpoint: null }, { clock });
    await eventually(() => stream !== null);
    run();
    const exit = await s.ended();
    assert.deepEqual([exit.kind, exit.words], ['spawn-failed', 'it did not name its endpoint within 5000 ms']);
  });

  for (const endpoint of ['http://127.0.0.2:1/messages', '//evil.example/x', 'http://']) {
    it(`an endpoint at ${endpoint} is not used (§4.5)`, async () => {
      const s = await open({ endpoint });
      s.sends(INITIALIZE);
      assert.equal((await s.ended()).kind, 'spawn-failed');
      assert.ok(s.told.every(({ verb }) => verb === 'GET'));
    });
  }

  it('a stream that is none has not started', async () => {
    stage = await createSession('sse', (_told, response) => json(response, {}, 401));
    const exit = await stage.ended();
    assert.equal(exit.kind, 'spawn-failed');
    assert.match(exit.words, /credentials \(HTTP 401\)/);
  });

  it('stopped: the stream is let go', async () => {
    const s = await open();
    await eventually(() => stream !== null);
    await s.child.stop('enough');
    await s.told[0]!.aborted;
    assert.deepEqual((await s.ended()).words, 'enough');
  });

  const endpoints: readonly (readonly [string, string | null])[] = [
    ['/messages?x=1', 'https://a.example/messages?x=1'],
    ['messages', 'https://a.example/mcp/messages'],
    ['?sessionId=1', 'https://a.example/mcp/sse?sessionId=1'],
    ['https://a.example/m#part', 'https://a.example/m'],
    ['https://a.example:8443/m', null],
    ['http://a.example/m', null],
    ['https://user@a.example/m', null],
    ['', null],
  ];
  for (const [text, expected] of endpoints) {
    it(`endpoint "${text}": ${expected ?? 'refused'}`, () => {
      assert.equal(endpointOf('https://a.example/mcp/sse', text), expected);
    });
  }
});
