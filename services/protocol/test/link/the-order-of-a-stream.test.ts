import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Stream } from '../../src/link/stream.ts';
import { bytes, join, keeping, openHead } from './wire.ts';

const LONG = 100_000;

function joined() {
  const atNode: string[] = [];
  const streams: Stream[] = [];
  const link = join((stream) => {
    streams.push(stream);
    return keeping(atNode);
  });
  return { ...link, atNode, streams };
}

describe('the order of a stream', () => {
  test('a close that overtakes its bulk open waits for it', () => {
    const { gateway, node, settle, atNode } = joined();
    const stream = gateway.channel.open(keeping([]));
    gateway.channel.send(stream, openHead(stream.id), bytes(LONG));
    settle();
    gateway.channel.close(stream);
    settle();
    gateway.small.arrive();
    assert.deepEqual(atNode, []);
    assert.equal(node.channel.size, 0);
    gateway.bulk.arrive();
    assert.deepEqual(atNode, ['open', 'close']);
  });

  test('a short result waits for the long event before it', () => {
    const { gateway, node, settle, streams, flow } = joined();
    const got: string[] = [];
    const stream = gateway.channel.open(keeping(got));
    gateway.channel.send(stream, openHead(stream.id));
    flow();
    const reply = streams[0]!;
    node.channel.send(reply, { kind: 'event', stream: reply.id, seq: 1, method: 'm' }, bytes(LONG));
    node.channel.send(reply, { kind: 'result', stream: reply.id, seq: 2, resultType: 'complete' });
    settle();
    node.small.arrive();
    assert.deepEqual(got, []);
    node.bulk.arrive();
    assert.deepEqual(got, ['event:1', 'result:2']);
  });

  test('whatever arrives first on which lane, messages come in the order they were sent', () => {
    const sizes = fc.array(fc.constantFrom(0, 50, 40_000, 200_000), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(sizes, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (lengths, turns) => {
        const { gateway, node, settle, streams, flow } = joined();
        const got: string[] = [];
        const stream = gateway.channel.open(keeping(got));
        gateway.channel.send(stream, openHead(stream.id));
        flow();
        const reply = streams[0]!;
        for (const [i, length] of lengths.entries()) {
          node.channel.send(reply, { kind: 'event', stream: reply.id, seq: i + 1, method: 'm' }, bytes(length));
        }
        for (const small of turns) {
          settle();
          (small ? node.small : node.bulk).arrive(1);
          gateway.small.arrive();
        }
        flow();
        assert.deepEqual(
          got,
          lengths.map((_, i) => `event:${i + 1}`),
        );
      }),
      { numRuns: 80 },
    );
  });

  test('an open that was not sent yet is taken back without a word', () => {
    const { gateway, flow, atNode } = joined();
    const busy = Array.from({ length: 8 }, () => gateway.channel.open(keeping([])));
    for (const stream of busy) gateway.channel.send(stream, openHead(stream.id), bytes(400_000));
    const late = gateway.channel.open(keeping([]));
    gateway.channel.send(late, openHead(late.id), bytes(400_000));
    gateway.channel.close(late);
    flow();
    assert.deepEqual(atNode, Array(8).fill('open'));
  });

  test('an open that was half sent is aborted, and the node keeps nothing of it', () => {
    const { gateway, node, settle, flow, atNode } = joined();
    const stream = gateway.channel.open(keeping([]));
    gateway.channel.send(stream, openHead(stream.id), bytes(1_000_000));
    settle();
    gateway.bulk.arrive();
    gateway.channel.close(stream);
    flow();
    assert.deepEqual(atNode, []);
    assert.equal(node.channel.size, 0);
    assert.deepEqual([gateway.broken, node.broken], [[], []]);
  });

  test('a close that crosses the result leaves nothing behind that grows', () => {
    const { gateway, node, settle, streams, flow } = joined();
    for (let i = 0; i < 3000; i++) {
      const stream = gateway.channel.open(keeping([]));
      gateway.channel.send(stream, openHead(stream.id));
      settle();
      gateway.small.arrive();
      const reply = streams.pop()!;
      node.channel.send(reply, { kind: 'result', stream: reply.id, seq: 1, resultType: 'complete' });
      node.channel.finish(reply);
      gateway.channel.close(stream);
      flow();
    }
    assert.equal(node.channel.size, 0);
    assert.equal(gateway.channel.size, 0);
    assert.ok(node.channel.unbegun <= 1024);
  });

  test('a number used twice ends the connection', () => {
    const { gateway, node, settle } = joined();
    const stream = gateway.channel.open(keeping([]));
    gateway.channel.send(stream, openHead(stream.id));
    settle();
    const again = gateway.small.written[0]!;
    gateway.small.arrive();
    node.small.lane.received(again);
    assert.deepEqual(node.broken, ['bad-frame: number used twice']);
  });

  test('the end of a connection is told to every stream once', () => {
    const { gateway, flow, atNode, node } = joined();
    const got: string[] = [];
    const stream = gateway.channel.open(keeping(got));
    gateway.channel.send(stream, openHead(stream.id));
    flow();
    gateway.channel.end('test');
    gateway.channel.end('again');
    node.channel.end('test');
    assert.deepEqual(got, ['broken test']);
    assert.deepEqual(atNode, ['open', 'broken test']);
  });
});
