// When is a server that cannot be reached left alone, and what brings it back (GB-013)?

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Clock } from '@lockkeeper/state/clock';
import { RemoteError } from '../../../src/remote/contract.ts';
import { type Breaker, createBreaker } from '../../../src/remote/fetch/breaker.ts';

let now = 0;
let timers = new Map<object, { readonly at: number; run(): void }>();
const clock: Clock = {
  now: () => now,
  setTimer(ms, run) {
    const timer = { clear: () => void timers.delete(timer) };
    timers.set(timer, { at: now + ms, run });
    return timer;
  },
};
function pass(ms: number): void {
  now += ms;
  for (const [timer, { at, run }] of timers) if (at <= now && timers.delete(timer)) run();
}
beforeEach(() => {
  now = 1_000_000;
  timers = new Map();
});

const down = new RemoteError('connect', 'far.example cannot be reached (ECONNREFUSED)', false);
const request = (breaker: Breaker, failure = down): void => {
  breaker.enter();
  breaker.failed(failure);
};
const turnedAway = (breaker: Breaker, words: RegExp) =>
  assert.throws(
    () => breaker.enter(),
    (error) => error instanceof RemoteError && !error.sent && error.kind === 'connect' && words.test(error.words),
  );
const open = (probe?: () => Promise<void>): Breaker => {
  const breaker = createBreaker({ clock, probe });
  for (let i = 0; i < 5; i++) request(breaker);
  return breaker;
};

test('five failures in a row leave it alone for a second, and callers are told at once why', () => {
  const breaker = open();
  turnedAway(breaker, /cannot be reached \(ECONNREFUSED\); the next try is in 1 s/);
  pass(999);
  turnedAway(breaker, /next try/);
  pass(1);
  breaker.enter();
});

test('one good answer among the failures keeps it, and so does a caller who left or a redirect', () => {
  const breaker = createBreaker({ clock });
  for (let i = 0; i < 20; i++) {
    request(breaker);
    request(breaker);
    request(breaker, new RemoteError('aborted', 'it was given up', true));
    request(breaker, new RemoteError('redirect', 'elsewhere', false));
    request(breaker, new RemoteError('full', 'as many connections as allowed', false));
    request(breaker);
    breaker.enter();
    breaker.answered(i % 2 === 0 ? 200 : 500);
  }
  breaker.enter();
});

test('what stands before a server that is away counts as it does, any other status is an answer', () => {
  const breaker = createBreaker({ clock });
  for (let i = 0; i < 5; i++) {
    breaker.enter();
    breaker.answered(503);
  }
  turnedAway(breaker, /HTTP 503/);
});

test('after its pause one request tries; with its connection the others may', () => {
  const breaker = open();
  pass(1_000);
  breaker.enter();
  turnedAway(breaker, /being tried again/);
  breaker.begun();
  breaker.enter();
  breaker.answered(200);
  for (let i = 0; i < 4; i++) request(breaker);
  breaker.enter();
});

test('the pauses grow to half a minute, and those who were under way do not count twice', () => {
  const breaker = open();
  for (let i = 0; i < 50; i++) breaker.failed(down);
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    turnedAway(breaker, new RegExp(`in ${seconds} s`));
    pass(seconds * 1000);
    request(breaker);
  }
});

test('where callers were turned away, a cheap real request tries first; where nobody asked, none does', async () => {
  let probes = 0;
  const breaker: Breaker = open(async () => {
    probes++;
    breaker.enter();
    breaker.answered(200);
  });
  pass(1_000);
  assert.equal(probes, 0);
  request(breaker);
  turnedAway(breaker, /in 2 s/);
  pass(2_000);
  assert.equal(probes, 1);
  breaker.enter();
  breaker.close();
  assert.equal(timers.size, 0);
});
