// Drain, clients that do not read, clients that do not finish, many streams (design §2, §11; auth-security.md T-47).

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { createWheel } from '../../src/http/wheel.ts';
import {
  bytes,
  eventsOf,
  headOf,
  modernParts,
  okAnswer,
  openSocket,
  type Rig,
  readReply,
  sendModern,
  startRig,
  until,
} from './rig.ts';

const PROGRESS = 'notifications/progress';
const CALL = { method: 'tools/call', params: { name: 'echo' }, headers: { 'Mcp-Name': 'echo' } };

test('GB-141: a drain lets a call end, closes idle connections, and takes no new ones', async () => {
  const rig = await startRig();
  let release: (() => void) | undefined;
  rig.answer = () => new Promise((resolve) => (release = () => resolve(okAnswer())));
  const idle = openSocket(rig.port);
  await new Promise((resolve) => idle.once('connect', resolve));
  const { start, lines, body } = modernParts();
  const socket = openSocket(rig.port);
  socket.write(headOf(start, [...lines, 'Connection: keep-alive'], body) + body);
  const reply = readReply(socket);
  await until(() => release !== undefined);
  const closed = rig.close(600_000);
  await new Promise((resolve) => idle.resume().once('close', resolve));
  await assert.rejects(sendModern(rig.port).then((r) => assert.notEqual(r.status, 200)));
  release?.();
  const done = await reply;
  assert.deepEqual([done.status, done.headers.get('connection')], [200, 'close']);
  await closed;
});

test('at the end of a drain what is left is aborted and broken', async () => {
  const rig = await startRig();
  let aborted = false;
  rig.answer = (exchange) =>
    new Promise((resolve) => {
      exchange.signal.addEventListener('abort', () => {
        aborted = true;
        resolve(okAnswer());
      });
    });
  const { start, lines, body } = modernParts();
  const socket = openSocket(rig.port);
  socket.write(headOf(start, lines, body) + body);
  const ended = new Promise((resolve) => socket.resume().once('close', resolve));
  await until(() => rig.seen.length === 1);
  await rig.close(10);
  await ended;
  assert.equal(aborted, true);
});

/** Large enough that no socket takes it whole. */
const LARGE = `"content":[{"type":"text","text":"${'x'.repeat(32 * 1024 * 1024)}"}]`;

async function startLargeCall(rig: Rig): Promise<Socket> {
  rig.answer = async () => okAnswer(LARGE);
  const { start, lines, body } = modernParts(CALL);
  const socket = openSocket(rig.port);
  socket.write(headOf(start, [...lines, 'Connection: keep-alive'], body) + body);
  await until(() => rig.audit.length === 1);
  return socket;
}

test('T-47: a client that never reads a large result is let go', async () => {
  const rig = await startRig({ limits: { keepAliveMs: 500 } });
  const socket = await startLargeCall(rig);
  let closed = false;
  const closing = rig.close(600_000).then(() => {
    closed = true;
  });
  await until(() => closed, 30_000);
  await closing;
  socket.destroy();
});

test('a client that reads a large result slowly gets the whole of it', async () => {
  const rig = await startRig({ limits: { keepAliveMs: 500 } });
  const socket = await startLargeCall(rig);
  let read = 0;
  // Ten times as long as the gateway waits for one that takes nothing.
  for await (const chunk of socket) {
    read += (chunk as Buffer).length;
    if (read >= LARGE.length) break;
    await new Promise((resolve) => setTimeout(resolve, ((chunk as Buffer).length / LARGE.length) * 5_000));
  }
  assert.ok(read >= LARGE.length);
  await rig.close();
});

test('T-47: an answer counts as long as its client does not read it, and no longer than the client is there', async () => {
  const rig = await startRig();
  let taken = 0;
  const socket = await startLargeCall(rig);
  const { exchange } = rig.seen[0]!;
  exchange.replied?.(() => taken++);
  const small = await sendModern(rig.port, CALL);
  assert.equal(small.status, 200);
  assert.equal(taken, 0);
  socket.destroy();
  await until(() => taken === 1);
  exchange.replied?.(() => taken++);
  assert.equal(taken, 2);
  await rig.close();
});

test('GB-141: a drain does not cut a large result that is still on its way', async () => {
  const rig = await startRig();
  const socket = await startLargeCall(rig);
  const closing = rig.close(600_000);
  const reply = await readReply(socket);
  assert.equal(reply.body.length, Number(reply.headers.get('content-length')));
  await closing;
});

test('a stream whose client does not read gets no more events than the buffer holds', async () => {
  const rig = await startRig();
  const filler = 'x'.repeat(10_000);
  rig.answer = async (_exchange, _ask, listener) => {
    for (let i = 1; i <= 2000; i++) listener.event(PROGRESS, bytes(`"progress":${i},"message":"${filler}"`));
    return okAnswer('"content":[]');
  };
  const reply = await sendModern(rig.port, { ...CALL, meta: { progressToken: 1 } });
  const events = eventsOf(reply.body) as { result?: unknown }[];
  assert.ok(events.length < 200, String(events.length));
  assert.ok(events.at(-1)?.result !== undefined, 'the result still comes');
  await rig.close();
});

test('one timer beats every stream once per period, and stops when none is left', () => {
  let tick: (() => void) | undefined;
  let cleared = 0;
  const wheel = createWheel((_ms, run) => {
    tick = run;
    return { clear: () => cleared++ };
  });
  const beats = [0, 0];
  let alive = true;
  const stream = (i: number) => ({
    beat: () => {
      beats[i]!++;
      return alive;
    },
  });
  wheel.add(stream(0), 1000);
  wheel.add(stream(1), 2000);
  for (let i = 0; i < 8; i++) tick?.();
  assert.deepEqual(beats, [4, 2]);
  assert.equal(cleared, 0);
  alive = false;
  for (let i = 0; i < 8; i++) tick?.();
  assert.deepEqual(beats, [5, 3]);
  assert.equal(cleared, 1);
});
