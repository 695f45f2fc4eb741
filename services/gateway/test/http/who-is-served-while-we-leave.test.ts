// A rolling restart (design §2): for a lead time everyone is served, then nobody new can connect, and nobody's request
// ends in a reset.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import {
  bytes,
  headOf,
  modernParts,
  okAnswer,
  openSocket,
  parseReply,
  type Reply,
  type Rig,
  sendModern,
  startRig,
  until,
} from './rig.ts';

const CONNECTED = ['Connection: keep-alive'];

/** One reply on a connection that stays; `ended` says how it went afterwards. */
function conversation(port: number) {
  const socket = openSocket(port);
  let text = '';
  let ended: 'end' | 'reset' | null = null;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  socket.on('end', () => (ended ??= 'end'));
  socket.on('error', () => (ended ??= 'reset'));
  return {
    socket,
    ask: () => write(socket),
    reply: async (): Promise<Reply> => {
      await until(() => text.includes('\r\n\r\n') && whole(parseReply(text)));
      const reply = parseReply(text);
      text = '';
      return reply;
    },
    ended: async () => {
      await until(() => ended !== null);
      return ended;
    },
  };
}

function whole({ headers, body }: Reply): boolean {
  return Buffer.byteLength(body) >= Number(headers.get('content-length'));
}

function write(socket: Socket): void {
  const { start, lines, body } = modernParts();
  socket.write(headOf(start, [...lines, ...CONNECTED], body) + body);
}

/** A call that runs until it is released. */
async function runningCall(rig: Rig) {
  let release: (() => void) | undefined;
  rig.answer = () => new Promise((resolve) => (release = () => resolve(okAnswer())));
  const client = conversation(rig.port);
  client.ask();
  await until(() => release !== undefined);
  rig.answer = async () => okAnswer();
  return { client, release: () => release?.() };
}

test('for the lead time new connections and new requests are served, and each connection ends with its reply', async () => {
  const rig = await startRig();
  const kept = conversation(rig.port);
  kept.ask();
  assert.equal((await kept.reply()).headers.get('connection'), 'keep-alive');
  const closing = rig.close(600_000, 1_500);
  kept.ask();
  const fresh = await sendModern(rig.port);
  const again = await kept.reply();
  assert.deepEqual([fresh.status, again.status, again.headers.get('connection')], [200, 200, 'close']);
  assert.equal(await kept.ended(), 'end');
  await closing;
});

test('after the lead time nobody connects, an idle connection gets an end and no reset', async () => {
  const rig = await startRig();
  const idle = conversation(rig.port);
  await once(idle.socket, 'connect');
  const { client, release } = await runningCall(rig);
  const closing = rig.close(600_000, 1);
  assert.equal(await idle.ended(), 'end');
  const [refused] = (await once(openSocket(rig.port), 'error')) as [NodeJS.ErrnoException];
  assert.equal(refused.code, 'ECONNREFUSED');
  release();
  assert.equal((await client.reply()).status, 200);
  assert.equal(await client.ended(), 'end');
  await closing;
});

test('a request behind a stream that began earlier is told to go elsewhere, in JSON-RPC, and nothing is done', async () => {
  const rig = await startRig();
  let release: (() => void) | undefined;
  rig.answer = (_exchange, _ask, listener) => {
    listener.event('notifications/progress', bytes('"progress":1'));
    return new Promise((resolve) => (release = () => resolve(okAnswer())));
  };
  const socket = openSocket(rig.port);
  const call = modernParts({ meta: { progressToken: 1 } });
  socket.write(headOf(call.start, [...call.lines, ...CONNECTED], call.body) + call.body);
  await until(() => release !== undefined);
  const closing = rig.close(600_000);
  write(socket);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const turnedAway = async () => /http_responses_total\{[^}]*503[^}]*\} 1/.test(await rig.metrics.registry.metrics());
  await eventually(turnedAway, { deadlineMs: 5_000 });
  release?.();
  await once(socket, 'end');
  const text = Buffer.concat(chunks).toString('utf8');
  const late = parseReply(text.slice(text.lastIndexOf('HTTP/1.1')));
  assert.deepEqual([late.status, late.headers.get('connection'), late.headers.get('retry-after')], [503, 'close', '1']);
  assert.equal((JSON.parse(late.body) as { error: { code: number } }).error.code, 10001);
  assert.equal(rig.seen.length, 1);
  await closing;
});
