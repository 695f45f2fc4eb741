import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StreamHead } from '../../src/link/frames.ts';
import type { Stream, StreamHandler } from '../../src/link/stream.ts';
import { bytes, join, keeping, openHead } from './wire.ts';

const KIB = 1024;

/** A receiver that consumes nothing until it is told to. */
function stalled() {
  const got: { kind: string; size: number }[] = [];
  const waiting: (() => void)[] = [];
  const handler: StreamHandler = {
    message: (head: StreamHead, body: Uint8Array) => {
      got.push({ kind: head.kind, size: body.length });
      return new Promise<void>((resolve) => waiting.push(resolve));
    },
    broken: () => undefined,
  };
  const consume = async () => {
    for (const resolve of waiting.splice(0)) resolve();
    await new Promise(setImmediate);
  };
  return { handler, got, consume };
}

function joined() {
  const replies = new Map<number, Stream>();
  const link = join((stream) => {
    replies.set(stream.id, stream);
    return keeping([]);
  });
  const begin = (handler: StreamHandler) => {
    const stream = link.gateway.channel.open(handler);
    link.gateway.channel.send(stream, openHead(stream.id));
    link.flow();
    return { stream, reply: replies.get(stream.id)! };
  };
  const event = (reply: Stream, seq: number, size: number) =>
    link.node.channel.send(reply, { kind: 'event', stream: reply.id, seq, method: 'm' }, bytes(size));
  return { ...link, begin, event };
}

describe('the credit of a stream', () => {
  test('a receiver that does not consume gets one window and no more, and goes on when it does', async () => {
    const { begin, event, flow, node } = joined();
    const slow = stalled();
    const { reply } = begin(slow.handler);
    for (let i = 1; i <= 100; i++) event(reply, i, 10 * KIB);
    flow();
    const sum = () => slow.got.reduce((total, g) => total + g.size, 0);
    assert.ok(sum() > 200 * KIB && sum() <= 256 * KIB, `${sum()}`);
    assert.ok(node.channel.pending(reply) > 900 * KIB);
    for (let i = 0; i < 20 && slow.got.length < 100; i++) {
      await slow.consume();
      flow();
    }
    assert.equal(slow.got.length, 100);
    await slow.consume();
    flow();
    assert.ok(node.channel.pending(reply) < 128 * KIB + 1);
  });

  test('it stops only its own stream', () => {
    const { begin, event, flow } = joined();
    const slow = stalled();
    const other: string[] = [];
    const one = begin(slow.handler);
    const two = begin(keeping(other));
    for (let i = 1; i <= 60; i++) event(one.reply, i, 20 * KIB);
    for (let i = 1; i <= 60; i++) event(two.reply, i, 20 * KIB);
    flow();
    assert.ok(slow.got.length < 14);
    assert.equal(other.length, 60);
  });

  test('a stalled stream does not hold up the long messages of others', () => {
    const { begin, event, flow } = joined();
    const slow = stalled();
    const stuck = Array.from({ length: 12 }, () => begin(slow.handler));
    for (const { reply } of stuck) for (let i = 1; i <= 4; i++) event(reply, i, 300 * KIB);
    flow();
    const other: string[] = [];
    const { reply } = begin(keeping(other));
    event(reply, 1, 5000 * KIB);
    flow();
    assert.deepEqual(other, ['event:1']);
  });

  test('a message longer than the window arrives whole', () => {
    const { begin, event, flow } = joined();
    const sizes: number[] = [];
    const { reply } = begin({
      message: (_head, body) => {
        sizes.push(body.length);
        return undefined;
      },
      broken: () => undefined,
    });
    event(reply, 1, 20_000 * KIB);
    flow();
    assert.deepEqual(sizes, [20_000 * KIB]);
  });

  test('long messages that are not consumed do not pile up', () => {
    const { begin, event, flow } = joined();
    const slow = stalled();
    const { reply } = begin(slow.handler);
    for (let i = 1; i <= 10; i++) event(reply, i, 1000 * KIB);
    flow();
    assert.equal(slow.got.length, 1);
  });

  test('when stalled receivers hold 12 MiB together, the one that holds most has to go', () => {
    const { begin, event, flow, gateway } = joined();
    const slow = stalled();
    const big = begin(slow.handler);
    event(big.reply, 1, 3000 * KIB);
    for (let i = 0; i < 60; i++) {
      const { reply } = begin(slow.handler);
      for (let n = 1; n <= 12; n++) event(reply, n, 20 * KIB);
    }
    flow();
    assert.equal(gateway.tooSlow[0]?.id, big.stream.id);
    assert.ok(gateway.tooSlow.length < 20);
    assert.ok(gateway.channel.unconsumed <= 12 * KIB * KIB, `${gateway.channel.unconsumed}`);
  });

  test('long messages take turns, so a later short one is not last', () => {
    const { begin, event, settle, node } = joined();
    const order: string[] = [];
    const note = (name: string): StreamHandler => ({
      message: () => {
        order.push(name);
        return undefined;
      },
      broken: () => undefined,
    });
    const big = begin(note('big'));
    const mid = begin(note('mid'));
    event(big.reply, 1, 2000 * KIB);
    event(mid.reply, 1, 60 * KIB);
    for (let i = 0; i < 200 && order.length < 2; i++) {
      settle();
      node.bulk.arrive();
      node.channel.drained('bulk');
    }
    assert.equal(order[0], 'mid');
  });

  test('a full socket is not written to', () => {
    const { begin, event, settle, node } = joined();
    const { reply } = begin(keeping([]));
    node.bulk.writableLength = 256 * KIB;
    event(reply, 1, 1000 * KIB);
    settle();
    assert.equal(node.bulk.bytes, 0);
    node.bulk.writableLength = 0;
    node.channel.drained('bulk');
    settle();
    assert.ok(node.bulk.bytes > 0);
  });

  test('short calls cost no credit frames', () => {
    const { begin, event, flow, node, gateway } = joined();
    for (let i = 0; i < 200; i++) {
      const { reply, stream } = begin(keeping([]));
      event(reply, 1, 200);
      node.channel.finish(reply);
      flow();
      gateway.channel.close(stream);
    }
    // One open each way and one event: nothing else was ever written by the node.
    assert.equal(node.channel.size, 0);
    assert.equal(gateway.controls.length + node.controls.length, 0);
  });
});
