// Who gets one of the connections that a server may be given (http.maxConnections), and who waits?

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RemoteDoor, RemoteError, type RemoteRequest } from '../../src/remote/contract.ts';
import { createPinnedDoor } from '../../src/remote/pinned-door.ts';
import { createSeats } from '../../src/remote/seats.ts';
import { remoteSpec } from './fetch/stage.ts';

interface Held extends RemoteDoor {
  readonly running: { end(): void }[];
  sent: number;
}

/** A door whose replies end when they are told to. */
function heldDoor(): Held {
  const running: { end(): void }[] = [];
  const door: Held = {
    running,
    sent: 0,
    async send() {
      door.sent++;
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push({ end: resolve });
      return {
        status: 200,
        headers: new Map(),
        body: (async function* () {
          await promise;
          yield new Uint8Array(1);
        })(),
        discard: resolve,
      };
    },
    close: () => Promise.resolve(),
  };
  return door;
}

const request = (signal = new AbortController().signal): RemoteRequest => ({ method: 'POST', headers: {}, signal });

async function read(door: RemoteDoor, signal?: AbortSignal): Promise<void> {
  const { body } = await door.send(request(signal));
  for await (const _chunk of body);
}

describe('who gets a connection', () => {
  const seatsOf = (max: number) => createSeats().of(remoteSpec('http://127.0.0.1:1/mcp'), max);

  it('requests, until only what is kept for answers and cancels is left; who waits is told when one ends', async () => {
    const seats = seatsOf(4);
    const held = heldDoor();
    const door = seats.posts(held);
    let told = 0;
    const leave = seats.join(() => told++);
    const first = read(door);
    assert.equal(seats.free, true);
    const second = read(door);
    assert.deepEqual([seats.free, told], [false, 0]);
    // What is kept may still be used.
    const third = read(door);
    held.running[0]!.end();
    await first;
    assert.deepEqual([told, seats.free], [0, false]);
    held.running[1]!.end();
    await second;
    assert.deepEqual([told, seats.free], [1, true]);
    held.running[2]!.end();
    await third;
    leave();
  });

  it('streams, but never more than half', async () => {
    const seats = seatsOf(4);
    const door = seats.streams(heldDoor());
    const leaving = new AbortController();
    await door.send(request(leaving.signal));
    await door.send(request());
    await assert.rejects(
      door.send(request()),
      (error) => error instanceof RemoteError && error.kind === 'connect' && !error.sent,
    );
    leaving.abort();
    await door.send(request());
  });

  it('one request at least, however few there are', () => {
    assert.equal(seatsOf(1).free, true);
  });

  it('a reply that is not read to its end, discarded, or failed holds none', async () => {
    const seats = seatsOf(4);
    const held = heldDoor();
    const door = seats.posts(held);
    const [a, b] = [await door.send(request()), await door.send(request())];
    assert.equal(seats.free, false);
    a.discard();
    assert.equal(seats.free, true);
    const chunks = b.body[Symbol.asyncIterator]();
    held.running[1]!.end();
    await chunks.next();
    await chunks.return?.();
    const broken = seats.posts({ ...held, send: () => Promise.reject(new RemoteError('connect', 'no', false)) });
    await assert.rejects(broken.send(request()));
    await door.send(request());
    assert.equal(seats.free, true);
  });

  it('all sessions of one server divide what there is', async () => {
    const all = createSeats();
    const spec = remoteSpec('http://127.0.0.1:1/mcp');
    const [one, other] = [all.of(spec, 4), all.of({ ...spec }, 4)];
    const door = one.posts(heldDoor());
    await door.send(request());
    await door.send(request());
    assert.equal(other.free, false);
    assert.equal(all.of({ ...spec, digest: 'another' }, 4).free, true);
  });

  it('a session has one of its own, and what runs beside goes over the shared ones (GB-002)', async () => {
    const [own, shared] = [heldDoor(), heldDoor()];
    const door = createPinnedDoor(own, shared);
    const first = read(door);
    await door.send(request());
    assert.deepEqual([own.sent, shared.sent], [1, 1]);
    own.running[0]!.end();
    await first;
    await door.send(request());
    assert.deepEqual([own.sent, shared.sent], [2, 1]);
  });
});
