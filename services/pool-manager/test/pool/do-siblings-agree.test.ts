// Two processes of one server that answer in different eras or revisions: which one is believed, and who is asked again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgeSiblings } from '../../src/pool/life/siblings.ts';
import { lease, server, stage } from './stage.ts';

const MODERN = { era: 'modern', revision: '2026-07-28' } as const;
const LEGACY = { era: 'legacy', revision: '2025-11-25' } as const;
const OLDER = { era: 'legacy', revision: '2025-06-18' } as const;

describe('of two that disagree', () => {
  for (const [newer, older, verdict] of [
    [MODERN, MODERN, 'agree'],
    [LEGACY, LEGACY, 'agree'],
    [MODERN, LEGACY, 'older-is-stale'],
    [LEGACY, MODERN, 'doubt'],
    [LEGACY, OLDER, 'older-is-stale'],
    [OLDER, LEGACY, 'older-is-stale'],
  ] as const) {
    it(`${newer.revision} after ${older.revision}: ${verdict}`, () => {
      assert.equal(judgeSiblings(newer, older), verdict);
    });
  }
});

describe('a program that was exchanged under its processes', () => {
  it('is served by the new ones: old ones take no new work and end when they are free', async () => {
    const s = stage();
    const held = await lease(s, { spec: server() });
    (await lease(s, { spec: server(), subject: 'bob' })).release();
    s.profile = MODERN;
    (await lease(s, { spec: server(), subject: 'carol' })).release();
    assert.equal(s.made[1]!.stopped, 'its sibling answers in another revision');
    assert.equal(s.made[0]!.stopped, null);
    held.release();
    assert.equal(s.made[0]!.stopped, 'its sibling answers in another revision');
    assert.equal(s.made[2]!.stopped, null);
    assert.deepEqual(s.doubts, []);
  });

  it('leaves sessions the process that is their state', async () => {
    const s = stage();
    const spec = server({ isolation: 'session' });
    (await lease(s, { spec, session: 'one' })).release();
    s.profile = MODERN;
    await lease(s, { spec, session: 'two' });
    assert.equal(s.made[0]!.stopped, null);
  });

  it('that seems legacy beside a modern one is asked again, and nobody is ended for it', async () => {
    const s = stage();
    s.profile = MODERN;
    (await lease(s, { spec: server() })).release();
    s.profile = LEGACY;
    (await lease(s, { spec: server(), subject: 'bob' })).release();
    assert.deepEqual(s.doubts, ['s']);
    assert.deepEqual([s.made[0]!.stopped, s.made[1]!.stopped], [null, null]);
  });

  it('is not mistaken for another server', async () => {
    const s = stage();
    (await lease(s, { spec: server() })).release();
    s.profile = MODERN;
    (await lease(s, { spec: server({ name: 'other' }) })).release();
    assert.equal(s.made[0]!.stopped, null);
  });
});
