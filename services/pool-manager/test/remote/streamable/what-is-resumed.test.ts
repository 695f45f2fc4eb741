// What becomes of an answer whose stream ended before it? (protocol.md §4.4 "Resume", 2511/http, the suite's sse-retry)

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
  introduced,
  json,
  result,
  type Script,
  type SessionStage,
} from '../session-stage.ts';

describe('what is resumed', () => {
  let stage: SessionStage | null = null;
  const gets: (string | undefined)[] = [];

  /** `first` begins the reply to request 2, `then` answers each GET that goes on with it. */
  const begin = async (
    first: (response: ServerResponse) => void,
    then: (response: ServerResponse, nth: number) => void,
    clock: Clock = systemClock,
  ) => {
    gets.length = 0;
    const script: Script = ({ verb, message, headers }, response) => {
      if (verb === 'DELETE') return void response.writeHead(405).end();
      if (verb === 'GET') {
        gets.push(headers['last-event-id'] as string | undefined);
        return then(response, gets.length);
      }
      if (message.method === 'initialize') {
        return json(response, introduced(message.id), 200, { 'mcp-session-id': 'S1' });
      }
      events(response);
      first(response);
    };
    stage = await createSession('streamable', script, { clock });
    stage.sends(INITIALIZE);
    await stage.answerTo(1);
    stage.sends({ id: 2, method: 'tools/call', params: { name: 'slow' } });
    return stage;
  };

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  it('ended by the server behind an event with an id: a GET goes on there, and what it brings is the request’s', async () => {
    const s = await begin(
      (response) => response.end('retry: 5\nid: a1\ndata:\n\n'),
      (response, nth) => {
        events(response);
        response.end(nth === 1 ? event({ jsonrpc: '2.0', method: 'x' }, 'a2') : event(result(2)));
      },
    );
    assert.equal((await s.answerTo(2)).of, 2);
    assert.deepEqual(gets, ['a1', 'a2']);
    assert.equal(s.heard.find(({ message }) => message.method === 'x')?.of, 2);
    assert.equal(s.toldOf('tools/call').length, 1);
  });

  it('broken: the same', async () => {
    const s = await begin(
      (response) => {
        response.write('retry: 5\nid: a1\ndata:\n\n');
        setTimeout(() => response.destroy(), 20);
      },
      (response) => {
        events(response);
        response.end(event(result(2)));
      },
    );
    await s.answerTo(2);
    assert.deepEqual(gets, ['a1']);
  });

  it('a server that cannot be reached for a moment is asked again', async () => {
    const s = await begin(
      (response) => response.end('retry: 5\nid: a1\ndata:\n\n'),
      (response, nth) => {
        if (nth === 1) return void response.writeHead(503).end();
        if (nth === 2) return void response.destroy();
        events(response);
        response.end(event(result(2)));
      },
    );
    await s.answerTo(2);
  });

  it('no id was given: there is nowhere to go on, and it may have run', async () => {
    const s = await begin(
      (response) => response.end(event({ jsonrpc: '2.0', method: 'x' })),
      () => assert.fail('nothing to resume'),
    );
    const { kind, mayHaveRun } = await s.failureOf(2);
    assert.deepEqual([kind, mayHaveRun, gets.length], ['lost', true, 0]);
  });

  it('the server has forgotten the stream: it may have run', async () => {
    const s = await begin(
      (response) => response.end('retry: 5\nid: a1\ndata:\n\n'),
      (response) => void response.writeHead(400).end(),
    );
    const failure = await s.failureOf(2);
    assert.deepEqual([failure.kind, failure.mayHaveRun], ['lost', true]);
    assert.match(failure.words, /its stream broke, and then it answered with HTTP 400/);
  });

  it('tries that bring nothing new come to an end', async () => {
    const s = await begin(
      (response) => response.end('retry: 1\nid: a1\ndata:\n\n'),
      (response) => {
        events(response);
        response.end();
      },
    );
    assert.match((await s.failureOf(2)).words, /could not be resumed/);
    assert.equal(gets.length, 4);
  });

  it('there is a pause before each try, whatever the server wishes', async () => {
    const pauses: number[] = [];
    const setTimer: Clock['setTimer'] = (ms, run) => {
      pauses.push(ms);
      return systemClock.setTimer(ms, run);
    };
    await begin(
      (response) => response.end('retry: 0\nid: a0\ndata:\n\n'),
      (response) => {
        events(response);
        response.end(gets.length > 5 ? event(result(2)) : `id: a${gets.length}\ndata:\n\n`);
      },
      { ...systemClock, setTimer },
    );
    await eventually(() => gets.length > 4);
    assert.ok(pauses.some((ms) => ms > 0) && pauses.every((ms) => ms >= 50), String(pauses));
  });

  it('who waits no longer stops it', async () => {
    const s = await begin(
      (response) => response.end('retry: 60000\nid: a1\ndata:\n\n'),
      () => assert.fail('nobody waits'),
    );
    s.child.forget?.(2);
    await s.child.stop('enough');
    assert.deepEqual(s.failures, []);
  });
});
