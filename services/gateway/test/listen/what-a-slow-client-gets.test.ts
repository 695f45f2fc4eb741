// The wire of one listen when its client reads slowly, or never.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SseStream } from '../../src/http/contract.ts';
import { ListenStream } from '../../src/listen/stream.ts';
import { manualClock } from '../route/stage.ts';

const NOTHING = { lists: new Set<'tools'>(), uris: new Set<string>() };
const TOOLS = { kind: 'list', list: 'tools' } as const;

function stage() {
  const sent: Record<string, unknown>[] = [];
  const socket = { bufferedBytes: 0, ended: false };
  const sse: SseStream = {
    send: (data) => sent.push(JSON.parse(Buffer.from(data as Uint8Array).toString()) as Record<string, unknown>) > 0,
    comment: () => {},
    end: () => Object.assign(socket, { ended: true }),
    get bufferedBytes() {
      return socket.bufferedBytes;
    },
    closed: false,
  };
  const clock = manualClock();
  let slow = 0;
  const serverInfo = { name: 'l', version: '1' };
  const stream = new ListenStream('7', { clock, random: () => 0, serverInfo }, () => void slow++);
  return { stream, sse, sent, socket, clock, slow: () => slow };
}

test('GB-066: what comes before the acknowledgement is sent after it', () => {
  const { stream, sse, sent, clock } = stage();
  for (let i = 0; i < 10; i++) stream.news(TOOLS);
  clock.advance(1_000);
  assert.deepEqual(sent, []);
  stream.acknowledge(sse, { lists: new Set(['tools']), uris: new Set() }, []);
  clock.advance(1_000);
  assert.deepEqual(
    sent.map(({ method }) => method),
    ['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed'],
  );
});

test('a client that stands still is told each thing once when it goes on', () => {
  const { stream, sse, sent, socket, clock, slow } = stage();
  stream.acknowledge(sse, NOTHING, []);
  socket.bufferedBytes = 1024 * 1024;
  for (let i = 0; i < 500; i++) {
    stream.news(TOOLS);
    stream.news({ kind: 'updated', uri: `x:${i % 3}` });
  }
  for (let i = 0; i < 20; i++) clock.advance(500);
  assert.equal(sent.length, 1);
  socket.bufferedBytes = 0;
  clock.advance(500);
  assert.equal(sent.length, 1 + 4);
  assert.equal(slow(), 0);
});

test('one that never goes on is let go, and so is one for whom too much waits', () => {
  const still = stage();
  still.stream.acknowledge(still.sse, NOTHING, []);
  still.socket.bufferedBytes = 1024 * 1024;
  still.stream.news(TOOLS);
  for (let i = 0; i < 70; i++) still.clock.advance(500);
  assert.equal(still.slow(), 1);
  const much = stage();
  for (let i = 0; i < 2_049; i++) much.stream.news({ kind: 'updated', uri: `x:${i}` });
  assert.equal(much.slow(), 1);
});

test('it ends with the result under its own id, and nothing follows', () => {
  const { stream, sse, sent, socket, clock } = stage();
  stream.acknowledge(sse, NOTHING, []);
  stream.news(TOOLS);
  stream.end();
  stream.news(TOOLS);
  stream.end();
  clock.advance(1_000);
  assert.equal(sent.length, 2);
  assert.deepEqual(sent[1], {
    jsonrpc: '2.0',
    id: 7,
    result: {
      resultType: 'complete',
      _meta: {
        'io.modelcontextprotocol/serverInfo': { name: 'l', version: '1' },
        'io.modelcontextprotocol/subscriptionId': 7,
      },
    },
  });
  assert.equal(socket.ended, true);
});
