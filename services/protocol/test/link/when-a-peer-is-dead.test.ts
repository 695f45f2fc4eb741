import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startHeartbeat } from '../../src/link/heartbeat.ts';
import { Lane } from '../../src/link/lane.ts';

function rig() {
  let now = 0;
  let next: { at: number; run: () => void } | null = null;
  const clock = {
    now: () => now,
    setTimer: (ms: number, run: () => void) => {
      next = { at: now + ms, run };
      return {
        clear: () => {
          next = null;
        },
      };
    },
  };
  const written: Uint8Array[] = [];
  const socket = {
    write: (b: Uint8Array) => written.push(b) > 0,
    cork() {},
    uncork() {},
    destroy() {},
    writableLength: 0,
  };
  const sink = { control() {}, message() {}, part() {}, aborted() {} };
  const lane = new Lane({ socket, now: clock.now, broken: () => undefined }, sink);
  const deaths: string[] = [];
  const heartbeat = startHeartbeat({
    lanes: [lane],
    clock,
    intervalMs: 2000,
    deadMs: 6000,
    dead: (reason) => deaths.push(reason),
  });
  /** Time goes by; timers run when they are due, or late by `late`. */
  const pass = (ms: number, late = 0) => {
    const end = now + ms;
    while (next !== null && next.at + late <= end) {
      const { at, run } = next;
      now = at + late;
      next = null;
      run();
    }
    now = end;
  };
  return { lane, deaths, heartbeat, pass, written, pending: () => next !== null };
}

describe('when a peer is dead', () => {
  test('it is pinged every two seconds and dead after six silent ones', () => {
    const { deaths, pass, written } = rig();
    pass(6000);
    assert.equal(written.length, 3);
    assert.deepEqual(deaths, []);
    pass(2000);
    assert.deepEqual(deaths, ['silent for 8000 ms']);
    assert.equal(written.length, 3);
  });

  test('any byte of it counts as life', () => {
    const { deaths, pass, lane } = rig();
    for (let i = 0; i < 10; i++) {
      pass(3000);
      lane.received(new Uint8Array([0]));
    }
    assert.deepEqual(deaths, []);
  });

  test('a silence that was our own is not held against it', () => {
    const { deaths, pass } = rig();
    pass(2000);
    pass(20_000, 15_000);
    assert.deepEqual(deaths, []);
  });

  test('stopped, it leaves no timer', () => {
    const { heartbeat, pending } = rig();
    heartbeat.stop();
    assert.equal(pending(), false);
  });
});
