// What is kept of people who are away? (habit 14: every cache has someone who ends it)

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { createForgetting, FORGET_EVERY_MS } from '../src/forget.ts';
import { createKept, keptKey } from '../src/route/catalogue/kept.ts';
import { manualClock } from './session/manual-clock.ts';

function setUp() {
  const clock = manualClock();
  const kept = createKept<{ version: string; ttlMs: number }>({
    store: createMemoryStore({ clock, warn: () => undefined }),
    clock,
    maxBytes: 1_000_000,
  });
  const forgetting = createForgetting(clock);
  forgetting.add(kept.forget);
  forgetting.start();
  const asked: string[] = [];
  const load = async (who: string) => {
    const source = async () => {
      asked.push(who);
      return { kind: 'raw' as const, raw: { members: Buffer.from('{}') } };
    };
    const outcome = await kept.load(
      keptKey('acme', 'tools', who),
      () => true,
      source,
      () => ({
        version: '1',
        ttlMs: 60_000,
      }),
    );
    assert.equal(outcome.kind, 'kept');
  };
  return { clock, kept, forgetting, load, asked, has: (who: string) => kept.peek(keptKey('acme', 'tools', who)) };
}

test('what nobody looks at is gone from the process after two rounds, and comes back from the store', async () => {
  const { clock, forgetting, load, asked, has } = setUp();
  await load('away');
  await load('here');
  for (let round = 0; round < 2; round += 1) {
    assert.ok(has('here'));
    await clock.advance(FORGET_EVERY_MS);
  }
  assert.equal(has('away'), undefined);
  assert.ok(has('here'));
  await load('away');
  assert.ok(has('away'));
  assert.deepEqual(asked, ['away', 'here']);
  forgetting.close();
});

test('after its end nothing is forgotten any more', async () => {
  const { clock, forgetting, load, has } = setUp();
  await load('away');
  forgetting.close();
  await clock.advance(5 * FORGET_EVERY_MS);
  assert.ok(has('away'));
});
