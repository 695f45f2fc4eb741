import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { StreamReply } from '@lockkeeper/pool-manager/link/contract';
import { ranked } from '@lockkeeper/state/nodes/rendezvous';
import { eventually } from '../harness/eventually.ts';
import {
  type Cluster,
  createCluster,
  deaf,
  dispatcherOf,
  nobodyLeaves,
  reasonOf,
  request,
  type TestGateway,
  type TestNode,
  textOf,
} from './cluster.ts';

const OWNER = '["acme","hot"]';
const BUSY = { reason: 'busy', code: -32603, message: 'full', mayHaveRun: false } as const;

describe('a key that may be on two of three nodes', () => {
  let cluster: Cluster;
  let gateway: TestGateway;
  let nodes: TestNode[];
  let held: { node: string; reply: StreamReply }[];

  beforeEach(async () => {
    cluster = createCluster();
    held = [];
    const ids = ranked(
      OWNER,
      ['n1', 'n2', 'n3'].map((id) => ({ id })),
    ).map(({ id }) => id);
    nodes = [];
    for (const id of ids) {
      const holding = dispatcherOf((_head, _body, reply) => {
        held.push({ node: id, reply });
        return undefined;
      });
      nodes.push(await cluster.node(id, holding));
    }
    gateway = await cluster.gateway();
  });
  afterEach(() => cluster.stop());

  const call = () => gateway.link.call(request({ owner: OWNER, nodes: 2 }), deaf, nobodyLeaves());
  const calls = async (n: number) => {
    const before = held.length;
    const results = Array.from({ length: n }, call);
    await eventually(() => held.length === before + n);
    return results;
  };
  const counts = () => nodes.map(({ id }) => held.filter(({ node }) => node === id).length);
  const finish = () => {
    for (const { node, reply } of held.splice(0)) reply.result({ resultType: 'complete' }, Buffer.from(node));
  };

  test('is on the first while it is quiet, on both when it is busy, and on the first again', async () => {
    const quiet = await calls(20);
    assert.deepEqual(counts(), [20, 0, 0]);
    const busy = await calls(80);
    assert.deepEqual(counts(), [50, 50, 0]);
    finish();
    await Promise.all([...quiet, ...busy]);
    await calls(10);
    assert.deepEqual(counts(), [10, 0, 0]);
    finish();
  });

  test('goes on at the next two when one of its nodes dies or drains, and nobody waits for a lease', async () => {
    await nodes[0]!.kill();
    await eventually(() => gateway.link.nodes() === 2);
    const busy = await calls(80);
    assert.deepEqual(counts(), [0, 40, 40]);
    finish();
    await Promise.all(busy);
    const drained = nodes[1]!.server.close();
    await eventually(() => nodes[1]!.server.stats().draining);
    await calls(40);
    assert.deepEqual(counts(), [0, 0, 40]);
    finish();
    await drained;
  });

  test('what is full at one of them is asked of the other, and then it is busy', async () => {
    const results = await calls(1);
    held[0]!.reply.fault(BUSY);
    await eventually(() => held.length === 2);
    assert.notEqual(held[1]!.node, held[0]!.node);
    finish();
    assert.equal(textOf(await results[0]!), nodes[1]!.id);
    const full = await calls(1);
    held[0]!.reply.fault(BUSY);
    await eventually(() => held.length === 2);
    held[1]!.reply.fault(BUSY);
    assert.equal(reasonOf(await full[0]!), 'busy');
    assert.equal(held.length, 2);
  });
});
