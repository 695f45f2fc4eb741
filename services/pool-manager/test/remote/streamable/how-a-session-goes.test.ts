// How does a session with a legacy server over Streamable HTTP go, from its first request to its end? (protocol.md §4.4)

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../../test/harness/eventually.ts';
import {
  createSession,
  event,
  events,
  INITIALIZE,
  INITIALIZED,
  introduced,
  json,
  result,
  type Script,
  type SessionStage,
  type StageOptions,
  type Told,
} from '../session-stage.ts';

interface Parts {
  /** Requests behind the introduction. */
  request?(told: Told, response: ServerResponse): void;
  get?(told: Told, response: ServerResponse): void;
  readonly session?: string | null;
}

/** A server that introduces itself; the rest is the test's. */
function server({ request, get, session = 'S1' }: Parts): Script {
  return (told, response) => {
    const { verb, message } = told;
    if (verb === 'GET') return get === undefined ? void response.writeHead(405).end() : get(told, response);
    if (verb === 'DELETE') return void response.writeHead(405).end();
    if (message.method === 'initialize') {
      return json(response, introduced(message.id), 200, session === null ? {} : { 'mcp-session-id': session });
    }
    if (message.method === undefined || message.id === undefined) return void response.writeHead(202).end();
    if (request === undefined) json(response, result(message.id));
    else request(told, response);
  };
}

describe('how a session goes', () => {
  let stage: SessionStage | null = null;
  const open = async (parts: Parts, options?: StageOptions): Promise<SessionStage> => {
    stage = await createSession('streamable', server(parts), options);
    return stage;
  };
  const begin = async (parts: Parts, options?: StageOptions): Promise<SessionStage> => {
    const s = await open(parts, options);
    s.sends(INITIALIZE);
    await s.answerTo(1);
    s.sends(INITIALIZED);
    await eventually(() => s.told.some(({ verb }) => verb === 'GET'));
    return s;
  };
  const call = (id: number) => ({ id, method: 'tools/call', params: { name: 'add', arguments: {} } });

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  it('a level is with the server before the call that wants it, though each has a request of its own', async () => {
    let answerLevel: (() => void) | null = null;
    const s = await begin({
      request: ({ message }, response) => {
        if (message.method === 'logging/setLevel') answerLevel = () => json(response, result(message.id));
        else json(response, result(message.id));
      },
    });
    s.sends({ id: 2, method: 'logging/setLevel', params: { level: 'info' } });
    s.sends(call(3));
    await eventually(() => answerLevel !== null);
    assert.equal(s.toldOf('tools/call').length, 0);
    answerLevel!();
    await s.answerTo(3);
    assert.equal(s.toldOf('tools/call').length, 1);
  });

  it('the id that was given and the revision that was negotiated are on everything that follows, and DELETE ends it', async () => {
    const s = await begin({});
    s.sends(call(2));
    await s.answerTo(2);
    s.sends({ id: 'q1', result: {} });
    await eventually(() => s.told.length === 5);
    await s.child.stop('enough');
    const first = s.toldOf('initialize')[0]!.headers;
    assert.deepEqual([first['mcp-session-id'], first['mcp-protocol-version']], [undefined, undefined]);
    assert.equal(first.accept, 'application/json, text/event-stream');
    const rest = s.told.slice(1);
    assert.deepEqual(
      rest.map(({ headers }) => [headers['mcp-session-id'], headers['mcp-protocol-version']]),
      rest.map(() => ['S1', '2025-06-18']),
    );
    assert.equal(rest.find(({ verb }) => verb === 'GET')!.headers.accept, 'text/event-stream');
    assert.equal(s.told.at(-1)!.verb, 'DELETE');
    // Modern headers mean nothing here.
    assert.ok(s.told.every(({ headers }) => headers['mcp-method'] === undefined && headers['mcp-name'] === undefined));
  });

  it('a server without session ids is served, and nothing is deleted (GB-012)', async () => {
    const s = await begin({ session: null });
    s.sends(call(2));
    await s.answerTo(2);
    await s.child.stop('enough');
    assert.ok(s.told.every(({ headers, verb }) => headers['mcp-session-id'] === undefined && verb !== 'DELETE'));
  });

  it('a session id that no header can carry back is refused', async () => {
    const s = await open({ session: 'a b' });
    s.sends(INITIALIZE);
    assert.equal((await s.failureOf(1)).kind, 'protocol');
  });

  it('nothing overtakes the introduction', async () => {
    let taken = () => {};
    stage = await createSession('streamable', (told, response) => {
      if (told.message?.method !== 'notifications/initialized') return server({})(told, response);
      taken = () => response.writeHead(202).end();
    });
    const s = stage;
    s.sends(INITIALIZE);
    await s.answerTo(1);
    s.sends(INITIALIZED);
    s.sends(call(2));
    await eventually(() => s.toldOf('notifications/initialized').length === 1);
    assert.equal(s.toldOf('tools/call').length, 0);
    taken();
    await s.answerTo(2);
  });

  it('nor is a call sent before the server’s own stream stands, where many servers ask what belongs to it', async () => {
    let stand = () => {};
    const s = await open({
      get: (_told, response) => {
        stand = () => events(response);
      },
    });
    s.sends(INITIALIZE);
    await s.answerTo(1);
    s.sends(INITIALIZED);
    s.sends(call(2));
    await eventually(() => s.told.some(({ verb }) => verb === 'GET'));
    const early = s.toldOf('tools/call').length;
    stand();
    await s.answerTo(2);
    assert.equal(early, 0);
  });

  it('what comes on a reply is that request’s; what comes on the server’s own stream is nobody’s (§5.0)', async () => {
    let own: ServerResponse | undefined;
    const s = await begin({
      get: (_told, response) => {
        events(response);
        own = response;
      },
      request: ({ message }, response) => {
        events(response);
        response.write(event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} }));
        response.end(event(result(message.id)));
      },
    });
    s.sends(call(2));
    await s.answerTo(2);
    own!.write(event({ jsonrpc: '2.0', id: 'p', method: 'ping' }));
    await eventually(() => s.heard.some(({ message }) => message.method === 'ping'));
    assert.deepEqual(
      s.heard.slice(1).map(({ message, of }) => [message.method ?? 'answer', of]),
      [
        ['elicitation/create', 2],
        ['answer', 2],
        ['ping', 0],
      ],
    );
  });

  it('answers, cancels and progress of ours are POSTs of their own (§4.4 "Server requests on SSE")', async () => {
    const s = await begin({ request: (_told, response) => events(response) });
    s.sends(call(2));
    await eventually(() => s.toldOf('tools/call').length === 1);
    s.sends({ id: 'q', result: { action: 'accept' } });
    s.sends({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await eventually(() => s.toldOf('notifications/cancelled').length === 1);
    assert.deepEqual(s.told.find(({ message }) => message?.id === 'q')!.message.result, { action: 'accept' });
  });

  it('letting go of a reply is no cancel (§4.4 "Disconnect"), and a cancelled one may end by itself for a while', async () => {
    const replies = new Map<number, ServerResponse>();
    const s = await begin({
      request: ({ message }, response) => {
        events(response);
        replies.set(message.id, response);
      },
    });
    s.sends(call(2));
    s.sends(call(3));
    await eventually(() => replies.size === 2);
    s.child.forget?.(2);
    await s.toldOf('tools/call').find(({ message }) => message.id === 2)!.aborted;
    assert.equal(s.toldOf('notifications/cancelled').length, 0);
    s.sends({ method: 'notifications/cancelled', params: { requestId: 3 } });
    await eventually(() => s.toldOf('notifications/cancelled').length === 1);
    replies.get(3)!.end(event(result(3)));
    await s.answerTo(3);
  });

  it('a cancel of what was not sent yet is not sent either', async () => {
    let taken = () => {};
    stage = await createSession('streamable', (told, response) => {
      if (told.message?.method !== 'notifications/initialized') return server({})(told, response);
      taken = () => response.writeHead(202).end();
    });
    const s = stage;
    s.sends(INITIALIZE);
    await s.answerTo(1);
    s.sends(INITIALIZED);
    s.sends(call(2));
    s.sends({ method: 'notifications/cancelled', params: { requestId: 2 } });
    s.sends(call(3));
    await eventually(() => s.toldOf('notifications/initialized').length === 1);
    taken();
    await s.answerTo(3);
    assert.deepEqual([s.toldOf('tools/call').length, s.toldOf('notifications/cancelled').length], [1, 0]);
  });

  it('a batch of 2025-03-26 is read, message by message in raise', async () => {
    const s = await begin({
      request: ({ message }, response) =>
        json(response, [{ jsonrpc: '2.0', method: 'notifications/message', params: {} }, result(message.id)]),
    });
    s.sends(call(2));
    await eventually(() => s.heard.some(({ message, of }) => Array.isArray(message) && of === 2));
    assert.deepEqual(s.failures, []);
  });

  it('its own stream goes on where it was left, after the pause that the server wished for', async () => {
    const gets: (string | undefined)[] = [];
    const s = await begin({
      get: ({ headers }, response) => {
        gets.push(headers['last-event-id'] as string | undefined);
        events(response);
        if (gets.length > 2) return;
        response.write('retry: 5\n');
        response.end(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, `e${gets.length}`));
      },
    });
    await eventually(() => gets.length === 3);
    assert.deepEqual(gets, [undefined, 'e1', 'e2']);
    assert.equal(s.heard.filter(({ message }) => message.method?.endsWith('list_changed')).length, 2);
  });

  it('its own stream is not taken up again without a pause, whatever the server wishes', async () => {
    const pauses: number[] = [];
    const setTimer: Clock['setTimer'] = (ms, run) => {
      pauses.push(ms);
      return systemClock.setTimer(ms, run);
    };
    let gets = 0;
    const get = (_told: Told, response: ServerResponse) => {
      events(response);
      response.end(`retry: 0\nid: e${++gets}\ndata:\n\n`);
    };
    await begin({ get }, { clock: { ...systemClock, setTimer } });
    await eventually(() => gets === 3);
    assert.ok(pauses.length > 0);
    assert.ok(
      pauses.every((ms) => ms >= 250),
      String(pauses),
    );
  });

  it('it asks and does not take the answers: its session ends, and what runs in it is told', async () => {
    const s = await begin({ request: (_told, response) => events(response) });
    s.sends(call(2));
    for (let id = 0; id < 400; id++) s.sends({ id: `q${id}`, result: {} });
    const { kind, words } = await s.ended();
    assert.deepEqual([kind, words], ['stopped', 'it asks faster than it takes the answers']);
  });

  for (const status of [400, 404, 405, 501]) {
    it(`its own stream answered with ${status} at first: there is none, and that is fine`, async () => {
      const s = await begin({
        get: (_told, response) => void response.writeHead(status).end(),
      });
      s.sends(call(2));
      await s.answerTo(2);
      assert.equal(s.child.exited, null);
      assert.equal(s.told.filter(({ verb }) => verb === 'GET').length, 1);
    });
  }

  it('stopped in the middle of everything: all is let go, the session is deleted, the end is told once', async () => {
    const s = await begin({ get: (_t, response) => events(response), request: (_t, response) => events(response) });
    s.sends(call(2));
    await eventually(() => s.toldOf('tools/call').length === 1);
    await s.child.stop('enough');
    await s.toldOf('tools/call')[0]!.aborted;
    await s.told.find(({ verb }) => verb === 'GET')!.aborted;
    assert.equal(s.told.at(-1)!.verb, 'DELETE');
    assert.deepEqual([s.exits.length, s.exits[0]!.kind, s.exits[0]!.words], [1, 'stopped', 'enough']);
  });
});
