import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@lockkeeper/state/clock';
import { LineUp, type Turn } from '../../src/raise/wire/line-up.ts';

const MIB = 1024 * 1024;

function clock() {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  const made: Clock = {
    now: () => now,
    setTimer(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => timers.delete(timer) };
    },
  };
  const advance = (ms: number) => {
    now += ms;
    for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
  };
  return { clock: made, advance, timers };
}

function stage() {
  const time = clock();
  const waiting = { bytes: 0 };
  const child = { room: 0 };
  const log: string[] = [];
  const deps = { clock: time.clock, maxWaitMs: () => 1_000, waiting };
  const takes = (bytes: number) => bytes <= child.room;
  const turn = (name: string, bytes = 1, subject?: string): Turn => ({
    bytes,
    ...(subject === undefined ? {} : { principal: { tenant: 'acme', issuer: 'https://idp', subject, client: 'app' } }),
    go: () => {
      child.room -= bytes;
      log.push(name);
    },
    refuse: (words) => log.push(`${name}: ${words}`),
  });
  return { ...time, waiting, child, log, turn, lineUp: new LineUp(deps, takes), deps, takes };
}

test('a call goes at once while the child reads, and no later one overtakes those that wait', () => {
  const { lineUp, child, turn, log, waiting, timers } = stage();
  child.room = 2;
  lineUp.enter(turn('a'));
  lineUp.enter(turn('long', 5));
  lineUp.enter(turn('b'));
  assert.deepEqual([log, waiting.bytes], [['a'], 6]);
  child.room = 5;
  lineUp.serve();
  assert.deepEqual([log, waiting.bytes], [['a', 'long'], 1]);
  child.room = 5;
  lineUp.serve();
  assert.deepEqual([log, waiting.bytes, timers.size], [['a', 'long', 'b'], 0, 0]);
});

test('people take turns: many calls of one do not hold up the one call of another', () => {
  const { lineUp, child, turn, log, waiting } = stage();
  for (let i = 1; i <= 5; i++) lineUp.enter(turn(`a${i}`, 1, 'alice'));
  lineUp.enter(turn('b1', 1, 'bob'));
  lineUp.enter(turn('b2', 1, 'bob'));
  child.room = 4;
  lineUp.serve();
  assert.deepEqual(log, ['a1', 'b1', 'a2', 'b2']);
  child.room = 9;
  lineUp.serve();
  assert.deepEqual([log.slice(4), waiting.bytes, lineUp.size], [['a3', 'a4', 'a5'], 0, 0]);
});

test('who has waited for limits.queueMs is refused, and nobody before', () => {
  const { lineUp, turn, log, advance, waiting, timers } = stage();
  lineUp.enter(turn('a'));
  advance(600);
  lineUp.enter(turn('b'));
  advance(399);
  assert.deepEqual(log, []);
  advance(1);
  assert.deepEqual(log, ['a: the server did not read its input in time']);
  advance(600);
  assert.equal(log.length, 2);
  assert.deepEqual([waiting.bytes, timers.size, lineUp.size], [0, 0, 0]);
});

test('who leaves is forgotten', () => {
  const { lineUp, child, turn, log, waiting } = stage();
  const gone = turn('gone');
  lineUp.enter(gone);
  lineUp.enter(turn('b'));
  assert.equal(lineUp.leave(gone), true);
  assert.equal(lineUp.leave(gone), false);
  child.room = 9;
  lineUp.serve();
  assert.deepEqual([log, waiting.bytes], [['b'], 0]);
});

test('all children of a node together hold no more than the bound; beyond it the answer comes at once', () => {
  const { lineUp, deps, takes, turn, log, waiting } = stage();
  const other = new LineUp(deps, takes);
  for (let i = 0; i < 255; i++) lineUp.enter(turn('a', MIB));
  other.enter(turn('b', MIB));
  assert.equal(waiting.bytes, 256 * MIB);
  other.enter(turn('c', 1));
  assert.deepEqual(log, ['c: too many calls wait for the server to read its input']);
});

test('when the child has ended all who wait go, and find out', () => {
  const { lineUp, turn, log, waiting, timers } = stage();
  lineUp.enter(turn('a'));
  lineUp.enter(turn('b'));
  lineUp.end();
  assert.deepEqual([log, waiting.bytes, timers.size], [['a', 'b'], 0, 0]);
});
