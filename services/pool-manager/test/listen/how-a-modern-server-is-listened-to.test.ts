// One listen at a modern process: in which order, and how often?
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wanted } from '../../src/listen/contract.ts';
import { ModernFeed } from '../../src/listen/modern-feed.ts';
import type { Change } from '../../src/raise/contract.ts';
import type { Side, UpstreamFilter, UpstreamListener } from '../../src/raise/side.ts';
import { manualClock } from './manual-clock.ts';

interface Opened {
  readonly filter: UpstreamFilter;
  readonly listener: UpstreamListener;
  closed: boolean;
}

function stage() {
  const opened: Opened[] = [];
  const heard: (Change | 'gap')[] = [];
  const clock = manualClock();
  const side: Side = {
    ask: async () => ({ kind: 'none' }),
    onChange: () => {},
    listen(filter, listener) {
      const one = { filter, listener, closed: false };
      opened.push(one);
      return { close: () => Object.assign(one, { closed: true }) };
    },
  };
  const listener = { change: (change: Change) => void heard.push(change), gap: () => void heard.push('gap') };
  const feed = new ModernFeed(side, listener, { clock, random: () => 1 });
  const at = (i: number): Opened => opened.at(i)!;
  const settle = () => clock.advance(0);
  return { feed, opened, heard, clock, at, settle };
}

const wanted = (lists: readonly ('tools' | 'prompts')[], uris: readonly string[] = []): Wanted => ({
  lists: new Set(lists),
  uris: new Set(uris),
});

test('when more is wanted the new listen is acknowledged before the old one is closed', async () => {
  const { feed, opened, at, settle } = stage();
  const first = feed.want(wanted(['tools']));
  await settle();
  at(0).listener.acknowledged({ toolsListChanged: true });
  assert.deepEqual([...(await first).lists], ['tools']);
  const second = feed.want(wanted(['tools'], ['x:1']));
  await settle();
  assert.deepEqual(at(1).filter, { toolsListChanged: true, resourceSubscriptions: ['x:1'] });
  assert.equal(at(0).closed, false);
  at(1).listener.acknowledged({ toolsListChanged: true, resourceSubscriptions: ['x:1', 'never:asked'] });
  assert.deepEqual([...(await second).uris], ['x:1']);
  assert.equal(at(0).closed, true);
  assert.equal(opened.length, 2);
});

test('the same wish opens nothing anew, and no wish closes it', async () => {
  const { feed, opened, at, settle } = stage();
  const first = feed.want(wanted(['tools']));
  await settle();
  at(0).listener.acknowledged({ toolsListChanged: true });
  await first;
  await feed.want(wanted(['tools']));
  assert.equal(opened.length, 1);
  await feed.want(wanted([]));
  assert.equal(at(0).closed, true);
});

test('GB-068: ended again and again it is opened more and more slowly, and each gap is told once it is closed', async () => {
  const { feed, opened, at, settle, clock, heard } = stage();
  const first = feed.want(wanted(['tools']));
  await settle();
  at(0).listener.acknowledged({ toolsListChanged: true });
  await first;
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    at(-1).listener.ended(null);
    const [wait] = clock.waits();
    waits.push(wait!);
    await clock.advance(wait!);
    at(-1).listener.acknowledged({ toolsListChanged: true });
    await settle();
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(opened.length, 9);
  assert.deepEqual(
    heard,
    Array.from({ length: 8 }, () => 'gap'),
  );
});

test('a server without listens is asked once', async () => {
  const { feed, opened, at, settle, clock } = stage();
  const first = feed.want(wanted(['tools']));
  await settle();
  at(0).listener.ended(-32601);
  assert.equal((await first).lists.size, 0);
  await clock.advance(600_000);
  await feed.want(wanted(['tools', 'prompts']));
  assert.equal(opened.length, 1);
});

test('one that is never acknowledged is given up, and the old one stays', async () => {
  const { feed, at, settle, clock } = stage();
  const first = feed.want(wanted(['tools']));
  await settle();
  at(0).listener.acknowledged({ toolsListChanged: true });
  await first;
  const second = feed.want(wanted(['tools', 'prompts']));
  await settle();
  await clock.advance(10_000);
  assert.deepEqual([...(await second).lists], ['tools']);
  assert.equal(at(1).closed, true);
  assert.equal(at(0).closed, false);
});
