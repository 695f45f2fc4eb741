// When is a session over, and what is told to whom? (protocol.md §4.4 "404 with session id", GB-004, GB-006)

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { manualClock } from '../../listen/manual-clock.ts';
import {
  createSession,
  event,
  events,
  INITIALIZE,
  introduced,
  json,
  result,
  type Script,
  type SessionStage,
} from '../session-stage.ts';

describe('what ends a session', () => {
  let stage: SessionStage | null = null;
  /** From then on the server says so to everything that carries the id. */
  let forgotten: ((response: ServerResponse) => void) | null = null;
  const replies = new Map<number, ServerResponse>();

  const begin = async (session: string | null = 'S1', clock: Clock = systemClock) => {
    forgotten = null;
    replies.clear();
    const script: Script = ({ verb, message }, response) => {
      if (forgotten !== null) return forgotten(response);
      if (verb !== 'POST') return void response.writeHead(405).end();
      if (message.method === 'initialize') {
        return json(response, introduced(message.id), 200, session === null ? {} : { 'mcp-session-id': session });
      }
      if (message.id === undefined) return void response.writeHead(202).end();
      if (message.method === 'ping') return json(response, result(message.id));
      if (message.params.name === 'quick') return json(response, result(message.id));
      replies.set(message.id, response);
    };
    stage = await createSession('streamable', script, { clock });
    stage.sends(INITIALIZE);
    await stage.answerTo(1);
    return stage;
  };
  const call = (id: number, name = 'slow') => ({ id, method: 'tools/call', params: { name } });

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  it('404: what got it has not run, what runs may have, and the end is told behind both', async () => {
    const s = await begin();
    s.sends(call(2));
    await eventually(() => replies.size === 1);
    events(replies.get(2)!);
    replies.get(2)!.write(event({ jsonrpc: '2.0', method: 'x' }));
    await eventually(() => s.heard.length === 2);
    forgotten = (response) =>
      json(response, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'gone' } }, 404);
    s.sends(call(3));
    const exit = await s.ended();
    assert.deepEqual([exit.kind, exit.words], ['session-ended', 'the server does not know its session any more']);
    assert.deepEqual(
      s.failures.map(({ id, kind, mayHaveRun }) => [id, kind, mayHaveRun]),
      [
        [3, 'session', false],
        [2, 'session', true],
      ],
    );
    // There is nothing left to delete.
    await s.child.stop('enough');
    assert.ok(s.told.every(({ verb }) => verb !== 'DELETE'));
  });

  const noSuch = { code: -32002, message: 'no such resource' };

  it('404 with an error for the request itself, while a ping is answered: the error is the answer', async () => {
    const s = await begin();
    for (const id of [2, 3]) s.sends(call(id));
    await eventually(() => replies.size === 2);
    json(replies.get(2)!, { jsonrpc: '2.0', id: 2, error: noSuch }, 404);
    assert.deepEqual((await s.answerTo(2)).message.error, noSuch);
    assert.equal(s.toldOf('ping').length, 1);
    // What runs beside it runs on.
    json(replies.get(3)!, result(3));
    await s.answerTo(3);
    assert.deepEqual([s.child.exited, s.failures], [null, []]);
  });

  it('the same, and to a ping too: the session is gone', async () => {
    const s = await begin();
    const asked: unknown[] = [];
    s.sends(call(2));
    await eventually(() => replies.size === 1);
    forgotten = (response) => {
      asked.push(s.told.at(-1)?.message.method);
      json(response, { jsonrpc: '2.0', id: s.told.at(-1)?.message.id, error: noSuch }, 404);
    };
    json(replies.get(2)!, { jsonrpc: '2.0', id: 2, error: noSuch }, 404);
    assert.equal((await s.ended()).kind, 'session-ended');
    assert.deepEqual([s.failures[0]!.kind, s.failures[0]!.mayHaveRun], ['session', false]);
    assert.deepEqual(asked, ['ping']);
  });

  it('the same, and a ping that gets no answer in its time: it says nothing, and the error is the answer', async () => {
    const clock = manualClock();
    const s = await begin('S1', clock);
    s.sends(call(2));
    await eventually(() => replies.size === 1);
    let pinged = false;
    forgotten = () => {
      pinged = true;
    };
    json(replies.get(2)!, { jsonrpc: '2.0', id: 2, error: noSuch }, 404);
    await eventually(() => pinged);
    await clock.advance(5_000);
    assert.deepEqual((await s.answerTo(2)).message.error, noSuch);
    assert.equal(s.child.exited, null);
    forgotten = null;
  });

  it('404 with an error that names no request or another, or is said of sessions, ends it without asking', async () => {
    for (const [id, code] of [
      [null, -32002],
      ['server-error', -32002],
      [77, -32002],
      [2, -32001],
      [2, -32600],
      [2, 'x'],
    ]) {
      const s = await begin();
      forgotten = (response) => json(response, { jsonrpc: '2.0', id, error: { ...noSuch, code } }, 404);
      s.sends(call(2));
      assert.equal((await s.ended()).kind, 'session-ended');
      assert.equal(s.toldOf('ping').length, 0);
      await s.close();
    }
  });

  it('several that get 404 at once have all not run; what is sent meanwhile has not either', async () => {
    const s = await begin();
    const waiting: ServerResponse[] = [];
    forgotten = (response) => waiting.push(response);
    for (const id of [2, 3]) s.sends(call(id));
    await eventually(() => waiting.length === 2);
    waiting[0]!.writeHead(404).end();
    await eventually(() => s.failures.length === 1);
    s.sends(call(4));
    await s.failureOf(4);
    waiting[1]!.writeHead(404).end();
    await s.ended();
    assert.deepEqual(
      s.failures.map(({ kind, mayHaveRun }) => [kind, mayHaveRun]),
      [
        ['session', false],
        ['session', false],
        ['session', false],
      ],
    );
  });

  it('404 to an answer of ours ends it too', async () => {
    const s = await begin();
    forgotten = (response) => void response.writeHead(404).end();
    s.sends({ id: 'q', result: {} });
    assert.equal((await s.ended()).kind, 'session-ended');
  });

  it('404 where there is no session id is a failure of that request alone', async () => {
    const s = await begin(null);
    forgotten = (response) => void response.writeHead(404).end();
    s.sends(call(2));
    assert.equal((await s.failureOf(2)).kind, 'lost');
    assert.equal(s.child.exited, null);
  });

  it('400 with an error, and to a ping too: the session is gone, though the server says it otherwise', async () => {
    const s = await begin();
    forgotten = (response) =>
      json(response, { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session ID' } }, 400);
    s.sends(call(2));
    assert.equal((await s.ended()).kind, 'session-ended');
    assert.deepEqual([s.failures[0]!.kind, s.failures[0]!.mayHaveRun], ['session', false]);
  });

  it('the same where there is no session: the server has become another', async () => {
    const s = await begin(null);
    const error = { code: -32020, message: 'Mcp-Method is missing' };
    forgotten = (response) => json(response, { jsonrpc: '2.0', id: null, error }, 400);
    s.sends(call(2));
    assert.equal((await s.ended()).kind, 'session-ended');
  });

  it('400 with an error, and a ping that is unknown: the error is the answer', async () => {
    const s = await begin();
    let first = true;
    const error = { code: -32602, message: 'bad arguments' };
    forgotten = (response) => {
      const code = first ? error.code : -32601;
      first = false;
      json(response, { jsonrpc: '2.0', id: null, error: { ...error, code } }, 400);
    };
    s.sends(call(2));
    assert.deepEqual((await s.answerTo(2)).message.error, error);
    assert.equal(s.child.exited, null);
  });

  it('400 with an error, while a ping is answered: the error is the answer', async () => {
    const s = await begin();
    s.sends(call(2));
    await eventually(() => replies.size === 1);
    const error = { code: -32602, message: 'bad arguments' };
    json(replies.get(2)!, { jsonrpc: '2.0', id: 2, error }, 400);
    assert.deepEqual((await s.answerTo(2)).message.error, error);
    assert.equal(s.toldOf('ping').length, 1);
    assert.equal(s.child.exited, null);
  });

  it('a broken reply leaves the session as it is (GB-007)', async () => {
    const s = await begin();
    s.sends(call(2));
    await eventually(() => replies.size === 1);
    replies.get(2)!.destroy();
    assert.equal((await s.failureOf(2)).kind, 'lost');
    s.sends(call(3, 'quick'));
    await s.answerTo(3);
  });
});
