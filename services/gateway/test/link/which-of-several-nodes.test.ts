// design.md §4 "Hot shared keys may spread over k nodes": who takes the next call of such a key.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ranked } from '@lockkeeper/state/nodes/rendezvous';
import { createSpread } from '../../src/link/spread.ts';

const NODES = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
const KEY = { owner: 'owner', nodes: 3 };
const ORDER = ranked('owner', NODES).map(({ id }) => id);

/** `n` calls one after another, none of which ends. */
function calls(n: number, able = NODES, key = KEY, spread = createSpread<{ id: string }>()) {
  const ends = new Map<string, (() => void)[]>();
  for (let i = 0; i < n; i++) {
    const node = spread.choose(key, able, null)!;
    ends.set(node.id, [...(ends.get(node.id) ?? []), spread.begin(key.owner, node)]);
  }
  return { spread, ends, counts: ORDER.map((id) => ends.get(id)?.length ?? 0) };
}

describe('a key that may be on several nodes', () => {
  test('is on one of them as long as few calls are under way', () => {
    assert.deepEqual(calls(32).counts, [32, 0, 0, 0]);
  });

  test('comes to the next in order when those before it are busy, and to no more than it may', () => {
    assert.deepEqual(calls(64).counts, [32, 32, 0, 0]);
    assert.deepEqual(calls(90).counts, [32, 32, 26, 0]);
    assert.deepEqual(calls(300).counts, [100, 100, 100, 0]);
  });

  test('falls back on the first when the calls have ended, and nothing of them is kept', () => {
    const { spread, ends } = calls(90);
    for (const end of [...ends.values()].flat()) {
      end();
      end();
    }
    assert.deepEqual(calls(32, NODES, KEY, spread).counts, [32, 0, 0, 0]);
  });

  test('stays where it is when another node goes, and the next in order stands in for one of its own', () => {
    const without = (id: string) => NODES.filter((node) => node.id !== id);
    const [first, second, third, fourth] = ORDER;
    assert.deepEqual([...calls(300, without(fourth!)).ends.keys()], [first, second, third]);
    assert.deepEqual([...calls(300, without(second!)).ends.keys()], [first, third, fourth]);
  });

  test('goes on to the next where one could not take it, until all that may have been asked', () => {
    const spread = createSpread<{ id: string }>();
    const tried = new Set<{ id: string }>();
    const asked: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) {
      const next = spread.choose(KEY, NODES, tried);
      asked.push(next?.id);
      if (next !== undefined) tried.add(next);
    }
    assert.deepEqual(asked, [...ORDER.slice(0, 3), undefined]);
  });
});
