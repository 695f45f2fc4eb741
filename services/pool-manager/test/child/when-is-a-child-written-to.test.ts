import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { StdinQueue } from '../../src/child/pipes/stdin-queue.ts';

const MIB = 1024 * 1024;

/** A pipe that takes a write when `take` is called. */
function pipe() {
  const writes: string[] = [];
  const takes: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 16 * 1024,
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk.length > 100 ? `${chunk.length} bytes` : chunk.toString());
      takes.push(done);
    },
    writev(chunks, done) {
      writes.push(`${chunks.reduce((sum, { chunk }) => sum + (chunk as Buffer).length, 0)} bytes`);
      takes.push(() => done());
    },
  });
  return { stream, writes, take: () => takes.shift()?.() };
}

function queueOn(stream: Writable, log: string[] = []) {
  return new StdinQueue(stream, {
    clock: systemClock,
    stallMs: 60_000,
    stalled: () => log.push('stalled'),
    beforeWrite: () => log.push('promised'),
    room: () => log.push('room'),
  });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const bytes = (text: string) => Buffer.from(text);

test('what one event brings is one write, after what it promises', async () => {
  const log: string[] = [];
  const { stream, writes } = pipe();
  const queue = queueOn(stream, log);
  assert.equal(queue.send(bytes('{"a":1}')), true);
  assert.equal(queue.send(bytes('{"b":\n2}')), true);
  assert.deepEqual([writes, log], [[], []]);
  await turn();
  assert.deepEqual([writes, log], [['{"a":1}\n{"b": 2}\n'], ['promised']]);
  queue.close();
});

test('what comes while the pipe is full waits for it, and is one write again', async () => {
  const log: string[] = [];
  const { stream, writes, take } = pipe();
  const queue = queueOn(stream, log);
  queue.send(bytes('1'));
  await turn();
  for (const text of ['2', '3', '4']) queue.send(bytes(text));
  await turn();
  assert.deepEqual(writes, ['1\n']);
  take();
  await turn();
  assert.deepEqual(writes, ['1\n', '2\n3\n4\n']);
  assert.deepEqual(log, ['promised', 'promised']);
  queue.close();
});

test('a long message is written by itself and in its place', async () => {
  const { stream, writes, take } = pipe();
  const queue = queueOn(stream);
  queue.send(bytes('short'));
  queue.send(Buffer.alloc(MIB, 'x'));
  queue.send(bytes('last'));
  for (let i = 0; i < 3; i++) {
    await turn();
    take();
  }
  await turn();
  assert.deepEqual(writes, ['short\n', `${MIB + 1} bytes`, 'last\n']);
  queue.close();
});

test('over the bound it takes nothing until the pipe has taken something, and says so once', async () => {
  const log: string[] = [];
  const { stream, take } = pipe();
  const queue = queueOn(stream, log);
  for (let i = 0; i < 256; i++) {
    assert.equal(queue.takes(5), true);
    queue.send(bytes('12345'));
  }
  assert.equal(queue.takes(5), false);
  // A cancel is sent without asking.
  assert.equal(queue.send(bytes('cancel')), true);
  await turn();
  assert.deepEqual(log, ['promised']);
  take();
  await turn();
  assert.deepEqual(log, ['promised', 'room']);
  assert.equal(queue.takes(5), true);
  queue.close();
});

test('a message larger than the bound goes when nothing else waits', () => {
  const { stream } = pipe();
  const queue = queueOn(stream);
  assert.equal(queue.takes(9 * MIB), true);
  queue.send(Buffer.alloc(9 * MIB));
  assert.equal(queue.takes(1), false);
  assert.equal(queue.send(Buffer.alloc(8 * MIB)), false);
  queue.close();
});

test('what is queued at the end is written before the end', async () => {
  const { stream, writes, take } = pipe();
  const queue = queueOn(stream);
  queue.send(bytes('1'));
  await turn();
  queue.send(bytes('2'));
  queue.send(bytes('3'));
  queue.end();
  assert.equal(queue.send(bytes('4')), false);
  take();
  await turn();
  take();
  await turn();
  assert.deepEqual(writes, ['1\n', '2\n3\n']);
  assert.equal(stream.writableFinished, true);
});
