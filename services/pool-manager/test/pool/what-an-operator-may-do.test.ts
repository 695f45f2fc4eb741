// Restart, drain and evict, by name or for a whole server.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StartError } from '../../src/raise/contract.ts';
import { lease, now, numberOf, server, settled, stage } from './stage.ts';

const spec = server();
const other = server({ name: 'other' });

describe('the list', () => {
  it('names each process once and for ever, and no person', async () => {
    const s = stage();
    await lease(s, { spec });
    (await lease(s, { spec: other, subject: 'bob' })).release();
    const { processes, servers } = s.pools.list();
    assert.deepEqual(
      processes.map(({ id, server: of, state, uses }) => [id, of, state, uses]),
      [
        ['n1', 's', 'busy', 1],
        ['n2', 'other', 'idle', 1],
      ],
    );
    assert.equal(servers['acme/s']!.starts, 1);
    assert.doesNotMatch(JSON.stringify(s.pools.list()), /alice|bob/);
  });

  it('tells the last failures in words', async () => {
    const s = stage();
    await lease(s, { spec });
    s.made[0]!.crash('exited with code 3');
    await settled();
    s.failing = 'command not found: x';
    await assert.rejects(lease(s, { spec: other }));
    const { mishaps } = s.pools.list();
    assert.deepEqual(
      mishaps.map(({ server: of, kind, words }) => [of, kind, words]),
      [
        ['s', 'crashed', 'exited with code 3'],
        ['other', 'start-failed', 'command not found: x'],
      ],
    );
  });
});

describe('a server that could not even be asked what it is', () => {
  it('is counted and told as a start that failed, and not twice where a pool wanted it', () => {
    const s = stage();
    const error = new StartError('command not found: x', '');
    s.pools.unusable(spec, error);
    s.pools.unusable(spec, error);
    const { mishaps, servers } = s.pools.list();
    assert.deepEqual(
      mishaps.map(({ server: of, kind, words }) => [of, kind, words]),
      [['s', 'start-failed', 'command not found: x']],
    );
    assert.equal(servers['acme/s']!.startFailures, 1);
  });
});

describe('drain', () => {
  it('lets calls end and gives new ones to a fresh process', async () => {
    const s = stage();
    const held = await lease(s, { spec });
    assert.deepEqual(s.pools.order('drain', { id: 'n1' }), ['n1']);
    assert.equal(s.made[0]!.stopped, null);
    assert.equal(numberOf(await lease(s, { spec })), 1);
    held.release();
    assert.equal(s.made[0]!.stopped, 'the operator ended it');
  });

  it('ends an idle one at once and starts nothing', async () => {
    const s = stage();
    (await lease(s, { spec })).release();
    s.pools.order('drain', { id: 'n1' });
    await settled();
    assert.deepEqual([s.starts, s.pools.rows().length], [1, 0]);
    assert.equal(s.pools.stats().endsBy.operator, 1);
  });
});

describe('restart', () => {
  it('puts a new process where the old one was, also when nobody calls', async () => {
    const s = stage();
    (await lease(s, { spec })).release();
    s.pools.order('restart', { id: 'n1' });
    await settled();
    assert.equal(s.made[0]!.stopped, 'the operator ended it');
    assert.deepEqual(
      s.pools.rows().map(({ id, state }) => [id, state]),
      [['n2', 'idle']],
    );
  });

  it('waits for the calls of the old one, and does not start two where a call has had one started', async () => {
    const s = stage();
    const held = await lease(s, { spec });
    s.pools.order('restart', { id: 'n1' });
    const next = await lease(s, { spec });
    held.release();
    await settled();
    assert.equal(s.starts, 2);
    next.release();
  });

  it('does not go over a cap, nor around a back-off', async () => {
    const s = stage();
    (await lease(s, { spec })).release();
    s.failing = 'broken';
    await assert.rejects(lease(s, { spec, subject: 'bob' }));
    assert.deepEqual(s.pools.order('restart', { id: 'n1' }), ['n1']);
    await settled();
    assert.equal(s.starts, 2);
    assert.equal(s.pools.rows().length, 0);
  });
});

describe('a process that is to end', () => {
  const one = server({ isolation: 'shared', pool: { max: 1 } });

  it('does not wait for who only keeps it, and he is told once', async () => {
    const s = stage();
    const kept = await lease(s, { spec: one });
    let told = 0;
    kept.keep?.(() => {
      told++;
      kept.release();
    });
    s.pools.order('restart', { id: 'n1' });
    await settled();
    assert.equal(told, 1);
    assert.equal(s.made[0]!.stopped, 'the operator ended it');
    assert.deepEqual(
      s.pools.rows().map(({ id, state }) => [id, state]),
      [['n2', 'idle']],
    );
  });

  it('waits for calls beside him; who has given his right back is told nothing', async () => {
    const s = stage();
    const [kept, past, call] = await Promise.all([1, 2, 3].map(() => lease(s, { spec: one })));
    kept!.keep?.(() => kept!.release());
    past!.keep?.(() => assert.fail());
    past!.release();
    s.pools.order('drain', { id: 'n1' });
    await settled();
    assert.equal(s.made[0]!.stopped, null);
    call!.release();
    await settled();
    assert.equal(s.made[0]!.stopped, 'the operator ended it');
  });
});

describe('evict', () => {
  it('ends a process in the middle of a call, and the next call has a new one', async () => {
    const s = stage();
    await lease(s, { spec });
    assert.deepEqual(s.pools.order('evict', { id: 'n1' }), ['n1']);
    assert.equal(s.made[0]!.stopped, 'the operator ended it');
    assert.equal(numberOf(await now(lease(s, { spec }))), 1);
  });

  it('ends all of a server, of every person, also those that start, and nobody else’s', async () => {
    const s = stage();
    for (const subject of ['alice', 'bob']) (await lease(s, { spec, subject })).release();
    (await lease(s, { spec: other })).release();
    s.manual = true;
    void lease(s, { spec, subject: 'carol' });
    await settled();
    assert.deepEqual(s.pools.order('evict', { tenant: 'acme', server: 's' }).toSorted(), ['n1', 'n2', 'n4']);
    await settled();
    assert.ok(s.pending[0]!.signal.aborted);
    assert.equal(s.made[2]!.stopped, null);
  });

  it('does nothing to another tenant’s server of the same name, nor to a name that was', async () => {
    const s = stage();
    (await lease(s, { spec })).release();
    assert.deepEqual(s.pools.order('evict', { tenant: 'blue', server: 's' }), []);
    assert.deepEqual(s.pools.order('evict', { id: 'n9' }), []);
    s.pools.order('evict', { id: 'n1' });
    assert.deepEqual(s.pools.order('evict', { id: 'n1' }), []);
  });
});
