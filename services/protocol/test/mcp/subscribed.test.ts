// Which subscription does an update belong to?
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subscribedBy } from '../../src/mcp/subscribed.ts';

test('the very URI goes before any other, then the longest that it lies under', () => {
  const subscribed = new Set(['file:///a', 'file:///a/b', 'db://x/', 'note://q?all']);
  assert.equal(subscribedBy('file:///a/b', subscribed), 'file:///a/b');
  assert.equal(subscribedBy('file:///a/b/c', subscribed), 'file:///a/b');
  assert.equal(subscribedBy('file:///a/z', subscribed), 'file:///a');
  assert.equal(subscribedBy('file:///a#part', subscribed), 'file:///a');
  assert.equal(subscribedBy('db://x/y', subscribed), 'db://x/');
});

test('a URI that only begins alike is another resource', () => {
  assert.equal(subscribedBy('file:///ab', new Set(['file:///a'])), undefined);
  assert.equal(subscribedBy('file:///', new Set(['file:///a'])), undefined);
  assert.equal(subscribedBy('file:///a', new Set([''])), undefined);
});
