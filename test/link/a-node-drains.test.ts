import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { StreamReply } from '@lockkeeper/pool-manager/link/contract';
import { eventually, within } from '../harness/eventually.ts';
import {
  ALICE,
  type Cluster,
  createCluster,
  deaf,
  dispatcherOf,
  nobodyLeaves,
  quiet,
  reasonOf,
  request,
  type TestGateway,
  type TestNode,
  textOf,
} from './cluster.ts';

describe('a node drains', () => {
  let cluster: Cluster;
  let gateway: TestGateway;
  let nodes: TestNode[];
  let held: { node: string; reply: StreamReply }[];
  let warned: string[];

  beforeEach(async () => {
    warned = [];
    cluster = createCluster((words, level) => level === 'warn' && warned.push(words));
    held = [];
    const holding = (node: string) => ({
      ...dispatcherOf((_head, _body, reply) => {
        held.push({ node, reply });
        return undefined;
      }),
    });
    nodes = [await cluster.node('n1', holding('n1')), await cluster.node('n2', holding('n2'))];
    gateway = await cluster.gateway();
  });
  afterEach(() => cluster.stop());

  const call = (change: Parameters<typeof request>[0] = {}) => gateway.link.call(request(change), deaf, nobodyLeaves());
  const finish = (i: number) => held[i]!.reply.result({ resultType: 'complete' }, Buffer.from(held[i]!.node));

  test('and goes, or its gateway goes: nobody is warned of that; of a node that goes without a word, once', async () => {
    const [drains, dies] = nodes as [TestNode, TestNode];
    const other = await cluster.gateway();
    await drains.server.close();
    await drains.stop();
    await eventually(() => gateway.link.nodes() === 1);
    await other.stop();
    assert.deepEqual(warned, []);
    await dies.kill();
    await eventually(() => gateway.link.nodes() === 0);
    assert.match(warned.join(), /^gateway: no connection to node n2: \S[^,]*$/);
  });

  test('what it had begun and may not end is done elsewhere, if it has no side effects', async () => {
    const draining = { reason: 'draining', code: -32603, message: 'drained', mayHaveRun: true } as const;
    const results = [call({ safe: true }), call()];
    await eventually(() => held.length === 2);
    for (const { reply } of held) {
      reply.started();
      reply.fault(draining);
    }
    await eventually(() => held.length === 3);
    assert.notEqual(held[2]!.node, held[0]!.node);
    finish(2);
    assert.deepEqual([textOf(await results[0]!), reasonOf(await results[1]!)], [held[2]!.node, 'draining']);
  });

  test('what runs ends there, new work goes elsewhere, retries still come', async () => {
    const running = call();
    await eventually(() => held.length === 1);
    const node = nodes.find((n) => n.id === held[0]!.node)!;
    const closed = node.server.close();

    const fresh = call();
    await eventually(() => held.length === 2);
    assert.notEqual(held[1]!.node, node.id);
    const retry = call({ incarnation: node.incarnation, state: 'opaque' });
    await eventually(() => held.length === 3);
    assert.equal(held[2]!.node, node.id);

    for (const i of [0, 1, 2]) finish(i);
    assert.deepEqual([textOf(await running), textOf(await retry)], [node.id, node.id]);
    assert.notEqual(textOf(await fresh), node.id);
    await within(closed, 5_000, 'the drain');
  });

  test('a call that was sent before the gateway heard of it is sent on', async () => {
    const closing = nodes.map((n) => n.server.close());
    await Promise.all(closing);
    const result = call({ deadlineMs: 20_000 });
    await cluster.node(
      'n3',
      dispatcherOf((_h, _b, reply) => void reply.result({ resultType: 'complete' }, Buffer.from('n3'))),
    );
    assert.equal(textOf(await result), 'n3');
    assert.equal(held.length, 0);
  });

  test('listens end as draining, so that gateways listen elsewhere', async () => {
    const ended: string[] = [];
    const { owner, xid: _xid, method: _m, ...rest } = request();
    gateway.link.listen(
      {
        owner,
        server: rest.server,
        digest: rest.digest,
        principal: ALICE,
        session: null,
        capabilities: {},
        filter: { tools: true, prompts: false, resources: false, uris: [], taskIds: [] },
      },
      { event: quiet, ended: (answer) => ended.push(reasonOf(answer)) },
    );
    await eventually(() => nodes.some((n) => n.server.stats().streams === 1));
    // Not started yet: it is listened for at the other node first, and only there it ends.
    await Promise.all(nodes.map((n) => n.server.close()));
    await eventually(() => nodes.every((n) => n.server.stats().streams === 0));
    await gateway.link.close();
    assert.equal(ended.length, 1);
  });
});
