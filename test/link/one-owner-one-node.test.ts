import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createOwnership, type HeldKeys } from '@lockkeeper/state/nodes/ownership';
import { randomToken } from '@lockkeeper/state/nodes/proving';
import { createStallWatch, type StallWatch } from '@lockkeeper/state/nodes/stall-watch';
import { eventually } from '../harness/eventually.ts';
import {
  type Cluster,
  createCluster,
  deaf,
  dispatcherOf,
  nobodyLeaves,
  quiet,
  request,
  type TestGateway,
  type TestNode,
  textOf,
} from './cluster.ts';

/** Says which node answered. */
const named = (name: string) =>
  dispatcherOf((_head, _body, reply) => {
    reply.started();
    reply.result({ resultType: 'complete' }, Buffer.from(name));
    return undefined;
  });

const ask = async (gateway: TestGateway, owner: string) =>
  textOf(await gateway.link.call(request({ owner }), deaf, nobodyLeaves()));

describe('three gateways and two nodes', () => {
  let cluster: Cluster;
  let gateways: TestGateway[];
  let late: TestNode;

  before(async () => {
    cluster = createCluster();
    await cluster.node('n1', named('n1'));
    await cluster.node('n2', named('n2'));
    gateways = await Promise.all([cluster.gateway(), cluster.gateway(), cluster.gateway()]);
  });
  after(() => cluster.stop());

  test('every owner key lands on one node from all gateways, and both nodes have some', async () => {
    assert.deepEqual(
      gateways.map((g) => g.link.nodes()),
      [2, 2, 2],
    );
    const used = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const answers = await Promise.all(gateways.map((g) => ask(g, `owner-${i}`)));
      assert.equal(new Set(answers).size, 1, `owner-${i}: ${answers}`);
      used.add(answers[0]!);
    }
    assert.deepEqual([...used].sort(), ['n1', 'n2']);
  });

  test('a node that comes later gets its share, and all gateways agree on it', async () => {
    late = await cluster.node('n3', named('n3'));
    await eventually(() => gateways.every((g) => g.link.nodes() === 3));
    const used = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const answers = await Promise.all(gateways.map((g) => ask(g, `owner-${i}`)));
      assert.equal(new Set(answers).size, 1, `owner-${i}: ${answers}`);
      used.add(answers[0]!);
    }
    assert.deepEqual([...used].sort(), ['n1', 'n2', 'n3']);
  });

  test('a node that goes orderly is asked no more', async () => {
    await late.stop();
    await eventually(() => gateways.every((g) => g.link.nodes() === 2));
    for (let i = 0; i < 60; i++) assert.notEqual(await ask(gateways[0]!, `owner-${i}`), 'n3');
  });
});

describe('gateways that see different nodes', () => {
  let cluster: Cluster;
  const owned: HeldKeys[] = [];
  const stalls: StallWatch[] = [];
  const lives = new Map<string, () => string>();
  let nodes: TestNode[];
  let asked: string[];

  /** Serves a key only while it holds its lease. */
  function owning(id: string) {
    const stall = createStallWatch(systemClock, 7_500);
    const ownership = createOwnership({
      store: cluster.store,
      clock: systemClock,
      nodeId: id,
      nodes: { live: () => [] },
      stall,
      token: randomToken,
      lost: quiet,
      reborn: quiet,
      warn: quiet,
    });
    lives.set(id, () => ownership.incarnation);
    owned.push(ownership);
    stalls.push(stall);
    return dispatcherOf((head, _body, reply) => {
      asked.push(id);
      ownership.claim('acme', head.server).then((claim) => {
        if (claim.kind === 'moved') {
          reply.fault({ reason: 'moved', code: -32603, message: 'moved', node: claim.node, mayHaveRun: false });
          return;
        }
        reply.started();
        reply.result({ resultType: 'complete' }, Buffer.from(id));
      }, quiet);
      return undefined;
    });
  }

  before(async () => {
    asked = [];
    cluster = createCluster();
    nodes = [];
    for (const id of ['n1', 'n2']) {
      const dispatcher = owning(id);
      nodes.push(await cluster.node(id, dispatcher, { incarnation: lives.get(id)! }));
    }
  });
  after(async () => {
    await Promise.all(owned.map((o) => o.close()));
    for (const stall of stalls) stall.close();
    await cluster.stop();
  });

  test('the lease wins over the hash: what one node has, the others are told', async () => {
    const narrow = await cluster.gateway({ sees: [nodes[0]!] });
    const wide = await cluster.gateway();
    for (let i = 0; i < 20; i++) {
      const server = `s${i}`;
      const call = (g: TestGateway) => g.link.call(request({ owner: server, server }), deaf, nobodyLeaves());
      assert.equal(textOf(await call(narrow)), 'n1');
      assert.equal(textOf(await call(wide)), 'n1');
      // Told once, it goes there at once.
      asked.length = 0;
      assert.equal(textOf(await call(wide)), 'n1');
      assert.deepEqual(asked, ['n1']);
    }
  });

  test('a key whose holder cannot be reached is tried again until the lease ends', async () => {
    const [, n2] = nodes;
    const narrow = await cluster.gateway({ sees: [n2!] });
    const server = 's0';
    const call = narrow.link.call(request({ owner: server, server }), deaf, nobodyLeaves());
    asked.length = 0;
    await eventually(() => asked.length > 2);
    await owned[0]!.release('acme', server);
    assert.equal(textOf(await call), 'n2');
  });
});
