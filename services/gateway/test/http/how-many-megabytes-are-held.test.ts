import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createIntake } from '../../src/http/intake.ts';

const BOUNDS = { bytes: 100, bytesEach: 60, readingEach: 60, movingEach: 60, movingMs: 7, smallBytes: 10 };
const person = (subject: string) => ({ tenant: 'acme', issuer: 'i', subject, client: null });

function stage(bounds = BOUNDS) {
  const timers = new Map<() => void, number>();
  const intake = createIntake((ms, run) => {
    timers.set(run, ms);
    return { clear: () => timers.delete(run) };
  }, bounds);
  const enter = (subject: string, bytes: number) => {
    const response = new EventEmitter();
    const entered = intake.enter(person(subject), bytes, 1_000, response as unknown as ServerResponse);
    const close = () => response.emit('close');
    const read = () => intake.read(person(subject), bytes);
    return {
      entered,
      read,
      close: () => {
        read();
        close();
      },
      vanish: close,
    };
  };
  /** Those of so many ms. */
  const expire = (after: number) => {
    for (const [run, ms] of [...timers]) {
      if (ms !== after) continue;
      timers.delete(run);
      run();
    }
  };
  return { enter, expire, timers };
}

const settled = async (entered: 'in' | Promise<string>) =>
  Promise.race([entered, new Promise((resolve) => setImmediate(() => resolve('waits')))]);

test('bodies count until their answers are out, and small ones never', async () => {
  const { enter } = stage();
  const first = enter('alice', 50);
  assert.equal(first.entered, 'in');
  assert.equal(enter('bob', 50).entered, 'in');
  const third = enter('carol', 11);
  assert.equal(await settled(third.entered), 'waits');
  assert.equal(enter('dave', 10).entered, 'in');
  first.close();
  assert.equal(await settled(third.entered), 'in');
});

test('one person has a part of the room and no more, and holds nobody up', async () => {
  const { enter } = stage();
  const first = enter('alice', 60);
  const second = enter('alice', 20);
  const third = enter('alice', 15);
  assert.equal(await settled(second.entered), 'waits');
  assert.equal(enter('bob', 40).entered, 'in');
  first.close();
  assert.deepEqual([await settled(second.entered), await settled(third.entered)], ['in', 'in']);
});

test('nobody overtakes himself: a smaller body behind a larger one waits too', async () => {
  const { enter } = stage();
  enter('alice', 50);
  assert.equal(await settled(enter('alice', 50).entered), 'waits');
  assert.equal(await settled(enter('alice', 11).entered), 'waits');
});

test('a body larger than all the room goes when nothing else is there', async () => {
  const { enter } = stage();
  const first = enter('alice', 11);
  const huge = enter('bob', 500);
  assert.equal(await settled(huge.entered), 'waits');
  first.close();
  assert.equal(await settled(huge.entered), 'in');
});

test('who has waited long enough is told so, who has left is forgotten', async () => {
  const { enter, expire, timers } = stage();
  const first = enter('alice', 60);
  const late = enter('alice', 20);
  const gone = enter('bob', 60);
  gone.vanish();
  assert.equal(await settled(gone.entered), 'gone');
  expire(1_000);
  assert.equal(await settled(late.entered), 'late');
  assert.deepEqual([...timers.values()], [BOUNDS.movingMs]);
  first.close();
  assert.equal(enter('bob', 60).entered, 'in');
});

test('of one person only so much is read at a time; what has been read makes room and still counts', async () => {
  const { enter } = stage({ ...BOUNDS, readingEach: 20 });
  const first = enter('alice', 15);
  const second = enter('alice', 15);
  assert.equal(await settled(second.entered), 'waits');
  assert.equal(enter('bob', 15).entered, 'in');
  first.read();
  assert.equal(await settled(second.entered), 'in');
  second.read();
  const third = enter('alice', 40);
  assert.equal(await settled(third.entered), 'waits');
  first.vanish();
  assert.equal(await settled(third.entered), 'in');
});

test('of one person only so much is on the move; what its server is slow to answer is not', async () => {
  const { enter, expire, timers } = stage({ ...BOUNDS, movingEach: 20 });
  const slow = enter('alice', 15);
  slow.read();
  const second = enter('alice', 15);
  assert.equal(await settled(second.entered), 'waits');
  assert.equal(enter('bob', 15).entered, 'in');
  expire(BOUNDS.movingMs);
  assert.equal(await settled(second.entered), 'in');
  const third = enter('alice', 15);
  assert.equal(await settled(third.entered), 'waits');
  second.close();
  assert.equal(await settled(third.entered), 'in');
  third.close();
  slow.vanish();
  assert.equal(enter('alice', 20).entered, 'in', 'all of it was given back');
  assert.equal(timers.size, 1, 'and no timer is left but that of the last one');
});
