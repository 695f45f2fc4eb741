import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chosen, ranked } from '../../src/nodes/rendezvous.ts';

const nodes = (n: number) => Array.from({ length: n }, (_, i) => ({ id: `node-${i}` }));
const keys = Array.from({ length: 6000 }, (_, i) => JSON.stringify(['acme', 'everything', 'user', `person-${i}`]));

describe('which node has a key', () => {
  test('nobody, when there is no node', () => {
    assert.equal(chosen('k', []), undefined);
  });

  test('the same one, in whatever order the nodes are listed', () => {
    const some = nodes(5);
    for (const key of keys.slice(0, 200)) assert.equal(chosen(key, some), chosen(key, [...some].reverse()));
  });

  test('each of four about a quarter of the keys', () => {
    const count = new Map<string, number>();
    for (const key of keys) {
      const { id } = chosen(key, nodes(4))!;
      count.set(id, (count.get(id) ?? 0) + 1);
    }
    assert.equal(count.size, 4);
    for (const n of count.values()) assert.ok(n > 1300 && n < 1700, `${n}`);
  });

  test('when a node goes, only its keys move', () => {
    const before = nodes(5);
    const after = before.filter((n) => n.id !== 'node-2');
    for (const key of keys) {
      const was = chosen(key, before)!;
      if (was.id !== 'node-2') assert.equal(chosen(key, after)!.id, was.id);
    }
  });

  test('the order goes on as if those before were not there', () => {
    for (const key of keys.slice(0, 200)) {
      let left = nodes(6);
      for (const next of ranked(key, nodes(6))) {
        assert.equal(chosen(key, left)!.id, next.id);
        left = left.filter((node) => node.id !== next.id);
      }
    }
  });

  test('a pinned key stays where it is from release to release', () => {
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => chosen(key, nodes(3))!.id),
      ['node-1', 'node-0', 'node-1', 'node-2', 'node-1', 'node-1'],
    );
  });
});
