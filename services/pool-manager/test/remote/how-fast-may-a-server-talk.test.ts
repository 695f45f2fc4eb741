// How fast may a server by URL talk? (auth-security I-13): as fast as one over stdio, its events counted as lines.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import type { Way } from '../../src/remote/contract.ts';
import {
  createSession,
  event,
  events,
  INITIALIZE,
  INITIALIZED,
  introduced,
  json,
  META,
  result,
  type Script,
  type SessionStage,
} from './session-stage.ts';

const SAID = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };
const CALL = { id: 2, method: 'tools/call', params: { name: 'echo', _meta: META } };
const flood = (response: ServerResponse) => void response.write(event(SAID).repeat(101));
const slowly = { linesPerSecond: 10, bytesPerSecond: 1e9 };

/** A stream for whoever wants one, `flood` on one of them. */
const legacy =
  (floods: 'own' | 'reply'): Script =>
  ({ verb, message }, response) => {
    if (verb === 'DELETE') return void response.writeHead(204).end();
    if (message?.method === 'initialize') return json(response, introduced(1), 200, { 'mcp-session-id': 'S1' });
    if (message !== undefined && message.id === undefined) return void response.writeHead(202).end();
    events(response);
    if (floods === (verb === 'GET' ? 'own' : 'reply')) flood(response);
  };

const oldest: Script = ({ verb, message }, response) => {
  if (verb === 'POST') return void response.writeHead(202).end();
  events(response);
  response.write('event: endpoint\ndata: /messages\n\n');
  if (message === undefined) flood(response);
};

const modern: Script = (_told, response) => {
  events(response);
  flood(response);
};

const TABLE: readonly (readonly [where: string, way: Way, script: Script])[] = [
  ['the reply of a modern one', 'modern', modern],
  ['the reply of a legacy one', 'streamable', legacy('reply')],
  ['the own stream of a legacy one', 'streamable', legacy('own')],
  ['the stream of an HTTP+SSE one', 'sse', oldest],
];

describe('a server by URL', () => {
  let stage: SessionStage | null = null;
  const begin = async (way: Way, script: Script, rates: { linesPerSecond: number; bytesPerSecond: number }) => {
    stage = await createSession(way, script, { rates });
    if (way === 'streamable') {
      stage.sends(INITIALIZE);
      await stage.answerTo(1);
      stage.sends(INITIALIZED);
    }
    stage.sends(CALL);
    return stage;
  };

  afterEach(async () => {
    await stage?.close();
    stage = null;
  });

  for (const [where, way, script] of TABLE) {
    it(`that floods ${where} has its session ended, and the reason is its own fault`, async () => {
      const { kind, cause, words } = await (await begin(way, script, slowly)).ended();
      assert.deepEqual([kind, cause, words], ['stopped', 'flood', 'flooded its output: more than 10 events a second']);
    });
  }

  it('that floods with bytes of no events too', async () => {
    const s = await begin(
      'modern',
      (_told, response) => {
        events(response);
        response.write(': nothing\n\n'.repeat(1_000));
      },
      { linesPerSecond: 10, bytesPerSecond: 1_000 },
    );
    assert.equal((await s.ended()).words, 'flooded its output: more than 1000 bytes a second');
  });

  it('that stays below goes on, however many answers it has given', async () => {
    const s = await begin(
      'modern',
      ({ message }, response) => {
        events(response);
        response.end(event(SAID).repeat(20) + event(result(message.id)));
      },
      slowly,
    );
    await s.answerTo(2);
    for (let id = 3; id < 6; id++) {
      s.sends({ ...CALL, id });
      await s.answerTo(id);
    }
    assert.deepEqual([s.heard.length, s.exits.length], [84, 0]);
  });
});
