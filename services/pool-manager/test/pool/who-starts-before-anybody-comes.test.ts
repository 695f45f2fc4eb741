// Design §5 "minimum warm": processes that are there before anybody comes, on the node where that will be.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigSource, ServerSpec, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import { ranked } from '@lockkeeper/state/nodes/rendezvous';
import { ownerOf } from '../../src/dispatch-lease.ts';
import { sharedOwner } from '../../src/pool/facts.ts';
import { createPrewarm } from '../../src/pool/prewarm.ts';
import { ManualClock, server, settled, stage } from './stage.ts';

const ANYONE = { principal: { tenant: 'acme', issuer: '', subject: '', client: null }, session: null };
const node = (id: string): NodeRecord => ({ id, incarnation: `${id}-life`, address: 'x:1', draining: false });

/** One look at a cluster of which `self` is a part. */
function rig(specs: readonly ServerSpec[], nodes: NodeRecord[], self: string) {
  const clock = new ManualClock();
  const held = new Map<string, string>();
  const warm = new Set<string>();
  let changed: () => void = () => {};
  const snapshot = { servers: new Map(specs.map((spec) => [spec.name, spec])) } as unknown as Snapshot;
  const config: ConfigSource = { current: () => snapshot, onChange: () => () => {} };
  const prewarm = createPrewarm({
    config,
    node: self,
    nodes: {
      live: () => nodes,
      onChange: (listener) => {
        changed = listener;
        return () => {};
      },
    },
    ownership: {
      async claim(_tenant, owner) {
        const holder = held.get(owner) ?? self;
        held.set(owner, holder);
        return holder === self ? { kind: 'held' } : { kind: 'moved', node: holder };
      },
    },
    pools: { warm: (_spec, owner) => void warm.add(owner), cool: (owner) => void warm.delete(owner) },
    clock,
    log: { debug: () => {}, info: () => {}, warn: (fields) => assert.fail(JSON.stringify(fields)) },
  });
  const see = async (next: NodeRecord[]) => {
    nodes = next;
    changed();
    await settled();
  };
  return { clock, held, warm, prewarm, see };
}

const NODES = ['n1', 'n2', 'n3'].map(node);
const one = server({ isolation: 'shared', pool: { minWarm: 1 } });
const order = ranked(sharedOwner(one), NODES).map(({ id }) => id);

describe('before anybody comes', () => {
  it('a shared server’s processes are started where its callers will be sent, and nowhere else', async () => {
    for (const id of order) {
      const { prewarm, warm } = rig([one], [...NODES], id);
      prewarm.start();
      await settled();
      assert.deepEqual([...warm], id === order[0] ? [ownerOf(one, ANYONE, id)] : [], id);
      prewarm.close();
    }
  });

  it('of a server that may be on two nodes, at both of them, each under its own share', async () => {
    const two = server({ isolation: 'shared', pool: { minWarm: 1, nodes: 2 } });
    for (const [i, id] of order.entries()) {
      const { prewarm, warm } = rig([two], [...NODES], id);
      prewarm.start();
      await settled();
      assert.deepEqual([...warm], i < 2 ? [ownerOf(two, ANYONE, id)] : [], id);
      prewarm.close();
    }
    assert.notEqual(ownerOf(two, ANYONE, 'n1'), ownerOf(two, ANYONE, 'n2'));
  });

  it('nothing of persons, and nothing where none are wanted', async () => {
    const specs = [server({ name: 'u', pool: { minWarm: 2 } }), server({ name: 's', isolation: 'shared' })];
    const { prewarm, held } = rig(specs, [node('n1')], 'n1');
    prewarm.start();
    await settled();
    assert.equal(held.size, 0);
    prewarm.close();
  });

  it('who comes next in order starts them when a node has gone or drains, as soon as the key is free', async () => {
    const [first, second] = order;
    const { clock, prewarm, held, warm, see } = rig([one], [...NODES], second!);
    held.set(sharedOwner(one), first!);
    prewarm.start();
    await settled();
    assert.equal(warm.size, 0);
    await see(NODES.map((each) => ({ ...each, draining: each.id === first })));
    assert.equal(warm.size, 0, 'its lease wins');
    held.clear();
    await clock.advance(5_000);
    assert.equal(warm.size, 1);
    prewarm.close();
    await settled();
    assert.equal(clock.pending, 0);
  });

  it('a share that is no longer this node’s is not kept warm', async () => {
    const two = server({ isolation: 'shared', pool: { minWarm: 1, nodes: 2 } });
    const [first, second, third] = ranked(sharedOwner(two), NODES);
    const { prewarm, warm, see } = rig([two], [first!, third!], third!.id);
    prewarm.start();
    await settled();
    assert.equal(warm.size, 1);
    await see([first!, second!, third!]);
    assert.equal(warm.size, 0);
    prewarm.close();
  });
});

describe('a key that goes to another node', () => {
  it('takes its warm processes along: none is started here again, until somebody is sent here again', async () => {
    const s = stage();
    s.pools.warm(one);
    await s.clock.advance(3_000);
    assert.equal(s.alive().length, 1);
    s.pools.dropOwner(sharedOwner(one));
    await s.clock.advance(10_000);
    assert.deepEqual([s.alive().length, s.pools.inUse(sharedOwner(one))], [0, false]);
    s.pools.warm(one);
    await s.clock.advance(3_000);
    assert.equal(s.alive().length, 1);
    await s.pools.close(0);
  });

  it('a share that is cooled ends when nobody has used it for long enough', async () => {
    const s = stage();
    const two = server({ isolation: 'shared', pool: { minWarm: 1, nodes: 2 } });
    const owner = ownerOf(two, ANYONE, 'n1');
    s.pools.warm(two, owner);
    await s.clock.advance(600_000);
    assert.equal(s.alive().length, 1);
    s.pools.cool(owner);
    await s.clock.advance(600_000);
    assert.deepEqual([s.alive().length, s.pools.inUse(owner)], [0, false]);
    await s.pools.close(0);
  });
});
