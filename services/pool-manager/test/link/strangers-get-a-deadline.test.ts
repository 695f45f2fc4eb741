import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { encodeMessage } from '@lockkeeper/protocol/link/codec';
import { FrameDecoder } from '@lockkeeper/protocol/link/decoder';
import type { Hello } from '@lockkeeper/protocol/link/frames';
import { createHandshake } from '@lockkeeper/protocol/link/handshake';
import { createProving } from '@lockkeeper/state/nodes/proving';
import { createAcceptor, type Pair } from '../../src/link/accept.ts';

const proving = createProving('a secret of this test');

/** A socket in memory; what is written to it goes to `peer`. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  writableLength = 0;
  peer: (bytes: Uint8Array) => void = () => undefined;
  write(bytes: Uint8Array): boolean {
    this.peer(bytes);
    return true;
  }
  cork(): void {}
  uncork(): void {}
  destroy(): void {
    this.destroyed = true;
  }
}

function rig() {
  const timers = new Set<{ at: number; run: () => void }>();
  let now = 0;
  const pairs: Pair[] = [];
  const refusals: string[] = [];
  const acceptor = createAcceptor({
    self: { id: 'n1', incarnation: () => 'life' },
    proving,
    nonce: () => 'a nonce of the node, long enough',
    clock: {
      now: () => now,
      setTimer: (ms, run) => {
        const timer = { at: now + ms, run };
        timers.add(timer);
        return { clear: () => timers.delete(timer) };
      },
    },
    mayRead: () => true,
    paired: (pair) => pairs.push(pair),
    refused: (why) => refusals.push(why),
  });
  const pass = (ms: number) => {
    now += ms;
    for (const timer of [...timers]) {
      if (timer.at > now) continue;
      timers.delete(timer);
      timer.run();
    }
  };
  /** Connects and, if wanted, proves itself as a gateway. */
  const connect = (hello?: Partial<Hello>) => {
    const socket = new FakeSocket();
    acceptor.take(socket);
    if (hello === undefined) return socket;
    const say = (head: Hello) => {
      for (const piece of encodeMessage(0, 0, JSON.stringify(head), new Uint8Array(0))) socket.emit('data', piece);
    };
    const handshake = createHandshake({
      self: {
        kind: 'hello',
        version: 1,
        role: 'gateway',
        id: 'g1',
        incarnation: 'gateway-life',
        lane: 'small',
        pair: 'p1',
        nonce: 'a nonce of the gateway, long enough',
        ...hello,
      },
      proving,
      send: (head) => queue.push(head),
      done: () => undefined,
    });
    const queue: Hello[] = [];
    const ignore = () => undefined;
    const decoder = new FrameDecoder(
      { message: ({ head }) => handshake.control(head as Hello), part: ignore, aborted: ignore },
      4096,
    );
    socket.peer = (bytes) => decoder.push(bytes);
    handshake.begin();
    for (let head = queue.shift(); head !== undefined; head = queue.shift()) say(head);
    return socket;
  };
  return { connect, pass, pairs, refusals, timers };
}

describe('strangers on the link', () => {
  test('one that says nothing is closed after five seconds', () => {
    const { connect, pass, refusals, timers } = rig();
    const socket = connect();
    pass(4_999);
    assert.equal(socket.destroyed, false);
    pass(1);
    assert.equal(socket.destroyed, true);
    assert.deepEqual(refusals, ['the handshake took too long']);
    assert.equal(timers.size, 0);
  });

  test('two lanes of one gateway and one pair become a pair, and their deadline is over', () => {
    const { connect, pass, pairs, timers } = rig();
    const sockets = [connect({ lane: 'bulk' }), connect({ lane: 'small' })];
    assert.equal(pairs.length, 1);
    assert.deepEqual([pairs[0]!.small.hello.lane, pairs[0]!.bulk.hello.lane], ['small', 'bulk']);
    pass(60_000);
    assert.ok(sockets.every((s) => !s.destroyed));
    assert.equal(timers.size, 0);
  });

  test('a lane whose other never comes is closed', () => {
    const { connect, pass, pairs } = rig();
    const socket = connect({ lane: 'small' });
    pass(5_000);
    assert.equal(socket.destroyed, true);
    // Its name is free again: what comes later waits for its own other lane.
    connect({ lane: 'bulk' });
    assert.equal(pairs.length, 0);
  });

  for (const [what, change] of [
    ['another pair', { pair: 'p2' }],
    ['another gateway', { id: 'g2' }],
    ['another life of the gateway', { incarnation: 'later' }],
  ] as const) {
    test(`lanes of ${what} are not joined`, () => {
      const { connect, pairs } = rig();
      connect({ lane: 'small' });
      connect({ lane: 'bulk', ...change });
      assert.equal(pairs.length, 0);
    });
  }

  test('the same lane twice is closed', () => {
    const { connect, pairs, refusals } = rig();
    connect({ lane: 'small' });
    const socket = connect({ lane: 'small' });
    assert.equal(socket.destroyed, true);
    assert.equal(pairs.length, 0);
    assert.deepEqual(refusals, ['the same lane twice']);
  });

  test('beyond 256 of them, the next is closed at once', () => {
    const { connect } = rig();
    const sockets = Array.from({ length: 257 }, () => connect());
    assert.deepEqual(
      sockets.map((s) => s.destroyed),
      [...Array(256).fill(false), true],
    );
  });
});
