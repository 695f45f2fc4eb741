// Design §5, row `session`: the state dies with its process, and the caller is told, once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import { createKeptState } from '../../src/lease/kept-state.ts';
import { legacyServer, memoryStore, notedLog, ok } from '../raise/fake.ts';
import { type Stage, stage } from './stage.ts';

const WORDS =
  'server "fake" no longer has its state of this session: the process that kept it has ended. Nothing was run';

const SESSION = { session: 's1' };

function node(store: Store, isolation: 'session' | 'user' = 'session'): Stage {
  const keptState = createKeptState({ store, clock: systemClock, log: notedLog(), sessionMaxMs: () => 60_000 });
  const script = legacyServer((m, child) => {
    if (m.method === 'tools/call') ok(child, m, { pid: 1 });
    if (m.method === 'tools/list') ok(child, m, { tools: [] });
    return m.method === 'tools/call' || m.method === 'tools/list';
  });
  return stage({ scripts: Array.from({ length: 6 }, () => script), spec: { isolation }, deps: { keptState } });
}

const call = async (s: Stage, method = 'tools/call', more: object = SESSION) => {
  const { fault } = await s.open(method, more, '"name":"t"').ended;
  return fault === undefined ? 'ok' : `${fault.reason} ${fault.message}`;
};

const kill = async (s: Stage) => {
  s.children.at(-1)!.exit('exited with code 3');
  await new Promise<void>((resolve) => setImmediate(resolve));
};

test('a process that has ended costs one answer that says so, nothing is run, and calls go on', async () => {
  const s = node(memoryStore());
  assert.equal(await call(s), 'ok');
  assert.equal(await call(s), 'ok');
  await kill(s);
  const { fault, started } = await s.open('tools/call', SESSION, '"name":"t"').ended;
  assert.deepEqual([fault?.reason, fault?.message, fault?.mayHaveRun, started], ['lost', WORDS, false, false]);
  assert.deepEqual(s.children.at(-1)!.methods().includes('tools/call'), false);
  assert.equal(await call(s), 'ok');
  await kill(s);
  assert.match(await call(s), /^lost/);
  await s.end();
});

test('it is told after the node has died too, and to that session only', async () => {
  const store = memoryStore();
  const first = node(store);
  assert.equal(await call(first), 'ok');
  const second = node(store);
  assert.equal(await call(second, 'tools/call', { session: 's2' }), 'ok');
  assert.match(await call(second), /^lost/);
  assert.equal(await call(second), 'ok');
  await Promise.all([first.end(), second.end()]);
});

test('who never called is told nothing; a list asks for no state', async () => {
  const s = node(memoryStore());
  assert.equal(await call(s, 'tools/list'), 'ok');
  await kill(s);
  assert.equal(await call(s), 'ok');
  await kill(s);
  assert.equal(await call(s, 'tools/list'), 'ok');
  assert.match(await call(s), /^lost/);
  await s.end();
});

test('calls made at once in the same belief are all told', async () => {
  const s = node(memoryStore());
  assert.equal(await call(s), 'ok');
  await kill(s);
  const all = await Promise.all([call(s), call(s), call(s)]);
  assert.deepEqual(
    all.map((one) => one.slice(0, 4)),
    ['lost', 'lost', 'lost'],
  );
  assert.deepEqual(await Promise.all([call(s), call(s)]), ['ok', 'ok']);
  await s.end();
});

test('a process of a person keeps no session, so nobody is told', async () => {
  const s = node(memoryStore(), 'user');
  assert.equal(await call(s), 'ok');
  await kill(s);
  assert.equal(await call(s), 'ok');
  await s.end();
});

test('a store that does not answer stops no call', async () => {
  const store = memoryStore();
  const s = node({ ...store, take: () => Promise.reject(new Error('away')) });
  assert.equal(await call(s), 'ok');
  await s.end();
});
