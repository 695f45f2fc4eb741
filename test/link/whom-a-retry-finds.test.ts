// A retry on a gateway that was not the one that asked: who answered is told with every unfinished result, and a node
// that this gateway has not met yet is waited for, not taken for lost (design §4 amendment 1).

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import { type Cluster, createCluster, deaf, dispatcherOf, nobodyLeaves, reasonOf, request } from './cluster.ts';

const asks = () =>
  dispatcherOf((head, _body, reply) => {
    reply.started();
    reply.result(
      { resultType: head.state === undefined ? 'input_required' : 'complete', state: 'st' },
      Buffer.from(''),
    );
    return undefined;
  });

/** Runs nothing; has or has not the record of an end. */
const recalls = (end: string | null) =>
  dispatcherOf(({ wait }, _body, reply) => {
    assert.equal(wait, true);
    if (end === null) reply.fault({ reason: 'unknown-exchange', code: -32603, message: 'unknown', mayHaveRun: false });
    else {
      reply.accepted();
      reply.result({ resultType: 'complete' }, Buffer.from(end));
    }
    return undefined;
  });

describe('a retry', () => {
  let cluster: Cluster;
  beforeEach(() => {
    cluster = createCluster();
  });
  afterEach(() => cluster.stop());

  test('is told its node by the question, and by nothing that has an end', async () => {
    const node = await cluster.node('n1', asks());
    const { link } = await cluster.gateway();
    const question = await link.call(request(), deaf, nobodyLeaves());
    assert.deepEqual(question.kind === 'result' && question.node, { id: 'n1', incarnation: node.incarnation });
    const { id, incarnation } = node;
    const done = await link.call(request({ node: id, incarnation, state: 'st' }), deaf, nobodyLeaves());
    assert.deepEqual(done.kind === 'result' && [done.head.resultType, done.node], ['complete', undefined]);
  });

  test('waits for a node that this gateway has not met yet', async () => {
    const node = await cluster.node('n1', asks());
    let meet: (nodes: readonly NodeRecord[]) => void = () => undefined;
    const nodes = {
      live: () => [],
      onChange: (listener: typeof meet) => {
        meet = listener;
        return () => undefined;
      },
    };
    const { link } = await cluster.gateway({ nodes });
    const { id, incarnation } = node;
    const retry = link.call(request({ node: id, incarnation, state: 'st' }), deaf, nobodyLeaves());
    meet([node.registration.current()]);
    assert.equal(reasonOf(await retry), 'result');
  });

  test('is lost at once when its node lives another life, and may have run', async () => {
    await cluster.node('n1', recalls(null));
    const { link } = await cluster.gateway();
    const ended = await link.call(request({ node: 'n1', incarnation: 'former', state: 'st' }), deaf, nobodyLeaves());
    assert.equal(reasonOf(ended), 'lost');
    assert.equal(ended.kind === 'fault' && ended.fault.mayHaveRun, true);
  });

  test('hears how the call ended where that is recorded, though the node lives another life', async () => {
    await cluster.node('n2', recalls('the end'));
    const { link } = await cluster.gateway();
    const ended = await link.call(request({ node: 'n2', incarnation: 'former', state: 'st' }), deaf, nobodyLeaves());
    assert.equal(ended.kind === 'result' && Buffer.from(ended.body).toString(), 'the end');
  });
});
