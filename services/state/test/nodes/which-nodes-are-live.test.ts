import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { registerNode } from '../../src/nodes/registration.ts';
import { createNodeWatch } from '../../src/nodes/watch.ts';
import { createTestClock, createTestStore, settled } from './fakes.ts';

const quiet = () => undefined;
const record = (id: string) => ({ id, incarnation: `${id}-life`, address: '127.0.0.1:4000', draining: false });

async function rig() {
  const clock = createTestClock();
  const test = createTestStore(clock);
  const { store } = test;
  const watch = createNodeWatch({ store, clock, warn: quiet });
  const register = (id: string) => registerNode({ store, clock, warn: quiet }, record(id));
  return { clock, test, store, watch, register, ids: () => watch.live().map((n) => n.id) };
}

describe('which nodes are live', () => {
  test('those that registered, with all that a gateway needs to dial them', async () => {
    const { watch, register } = await rig();
    await register('n1');
    await register('n2');
    await watch.start();
    assert.deepEqual(watch.live(), [record('n1'), record('n2')]);
  });

  test('a new node, a drain and a new incarnation are hinted at once', async () => {
    const { watch, register, ids } = await rig();
    await watch.start();
    assert.deepEqual(ids(), []);
    const n1 = await register('n1');
    await settled();
    assert.deepEqual(ids(), ['n1']);
    await n1.announce({ draining: true });
    await settled();
    assert.equal(watch.live()[0]?.draining, true);
    await n1.announce({ incarnation: 'another' });
    await settled();
    assert.deepEqual(watch.live()[0], { ...record('n1'), draining: true, incarnation: 'another' });
    await n1.close();
    await settled();
    assert.deepEqual(ids(), []);
  });

  test('a node that beats stays; one that was killed goes within five seconds', async () => {
    const { clock, store, watch, register, ids } = await rig();
    await register('n1');
    await store.set('lk:{}:node:n2', JSON.stringify(record('n2')), 3000);
    await store.addToSet('lk:{}:nodes', 'n2', 512, 60_000);
    await watch.start();
    assert.deepEqual(ids(), ['n1', 'n2']);
    await clock.pass(4_100);
    assert.deepEqual(ids(), ['n1']);
    await clock.pass(60_000);
    assert.deepEqual(ids(), ['n1']);
    assert.deepEqual(await store.membersOf('lk:{}:nodes'), ['n1']);
  });

  test('while the store cannot be read the last known nodes stand', async () => {
    const { clock, test, watch, register, ids } = await rig();
    await register('n1');
    await watch.start();
    test.down = true;
    await clock.pass(120_000);
    assert.deepEqual(ids(), ['n1']);
    test.down = false;
    await clock.pass(5_000);
    assert.deepEqual(ids(), ['n1']);
  });

  test('a record that is not one is no node', async () => {
    const { store, watch, ids } = await rig();
    await store.set('lk:{}:node:bad', '{"id":5}', 8000);
    await store.addToSet('lk:{}:nodes', 'bad', 512, 60_000);
    await watch.start();
    assert.deepEqual(ids(), []);
  });

  test('closed, neither leaves a timer', async () => {
    const { clock, store, watch, register } = await rig();
    const n1 = await register('n1');
    await watch.start();
    await n1.close();
    await watch.close();
    await store.close();
    await settled();
    assert.equal(clock.timers, 0);
  });
});
