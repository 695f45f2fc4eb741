import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { StreamReply } from '@lockkeeper/pool-manager/link/contract';
import { MAX_MESSAGE_BYTES } from '@lockkeeper/protocol/link/version';
import { eventually } from '../harness/eventually.ts';
import {
  type Cluster,
  createCluster,
  deaf,
  dispatcherOf,
  echo,
  nobodyLeaves,
  quiet,
  reasonOf,
  request,
  textOf,
} from './cluster.ts';

const MIB = 1024 * 1024;
/** More than any configuration allows. Never touched, so it takes no memory. */
const HUGE = Buffer.alloc(MAX_MESSAGE_BYTES + 1);

describe('many megabytes', () => {
  let cluster: Cluster;
  beforeEach(() => {
    cluster = createCluster();
  });
  afterEach(() => cluster.stop());

  test('256 parallel echoes of 1 MiB come back whole, and small calls pass them', async () => {
    await cluster.node('n1', echo());
    const gateway = await cluster.gateway();
    const bodies = Array.from({ length: 256 }, (_, i) => Buffer.alloc(MIB, i));
    let bulkLeft = bodies.length;
    const bulk = bodies.map(async (body) => {
      const answer = await gateway.link.call(request({ body }), deaf, nobodyLeaves());
      bulkLeft -= 1;
      return answer.kind === 'result' && body.equals(answer.body);
    });
    let passed = 0;
    while (bulkLeft > 0) {
      assert.equal(
        textOf(await gateway.link.call(request({ body: Buffer.from('"n":1') }), deaf, nobodyLeaves())),
        '"n":1',
      );
      if (bulkLeft > 0) passed += 1;
    }
    assert.deepEqual(new Set(await Promise.all(bulk)), new Set([true]));
    assert.ok(passed > 20, `${passed} small calls were answered while long ones were on the way`);
  });

  test('a message that the link does not carry is a fault of its call, not the end of the connection', async () => {
    await cluster.node(
      'n1',
      dispatcherOf((head, _body, reply) => {
        reply.result({ resultType: 'complete' }, head.method === 'huge' ? HUGE : Buffer.from('fine'));
        return undefined;
      }),
    );
    const gateway = await cluster.gateway();
    const call = (change: Parameters<typeof request>[0]) => gateway.link.call(request(change), deaf, nobodyLeaves());
    assert.equal(reasonOf(await call({ body: HUGE })), 'too-large');
    assert.equal(reasonOf(await call({ method: 'huge' })), 'too-large');
    assert.equal(textOf(await call({})), 'fine');
  });

  test('a listener that takes nothing holds back its own exchange and no other', async () => {
    let flooding: StreamReply | undefined;
    await cluster.node(
      'n1',
      dispatcherOf((head, body, reply) => {
        reply.started();
        if (head.method === 'flood') flooding = reply;
        else reply.result({ resultType: 'complete' }, body);
        return undefined;
      }),
    );
    const gateway = await cluster.gateway();
    const taken: (() => void)[] = [];
    let got = 0;
    const slow = {
      event: () => {
        got += 1;
        return new Promise<void>((resolve) => taken.push(resolve));
      },
    };
    const flood = gateway.link.call(request({ method: 'flood' }), slow, nobodyLeaves());
    await eventually(() => flooding !== undefined);
    for (let i = 0; i < 1000; i++) flooding!.event('notifications/message', Buffer.alloc(4096, 0x61));
    await eventually(() => got > 40);
    const text = async () => textOf(await gateway.link.call(request({ body: Buffer.from('x') }), deaf, nobodyLeaves()));
    for (let i = 0; i < 50; i++) assert.equal(await text(), 'x');
    assert.ok(got < 70, `${got} events of 4 KiB in a window of 256 KiB`);
    assert.ok(flooding!.queuedBytes() > 3 * MIB);
    flooding!.result({ resultType: 'complete' }, Buffer.from('end'));
    await eventually(() => {
      for (const resolve of taken.splice(0)) resolve();
      return got === 1000;
    });
    assert.equal(textOf(await flood), 'end');
  });

  test('when too many listeners take nothing, the slowest exchange ends as too slow', async () => {
    const replies: StreamReply[] = [];
    await cluster.node(
      'n1',
      dispatcherOf((_head, _body, reply) => {
        reply.started();
        replies.push(reply);
        return undefined;
      }),
    );
    const gateway = await cluster.gateway();
    const never = { event: () => new Promise<void>(quiet) };
    const ended: string[] = [];
    const calls = Array.from({ length: 70 }, async () => {
      const answer = await gateway.link.call(request(), never, nobodyLeaves());
      ended.push(reasonOf(answer));
    });
    await eventually(() => replies.length === 70);
    for (const reply of replies) for (let i = 0; i < 60; i++) reply.event('m', Buffer.alloc(16 * 1024));
    await eventually(() => ended.length > 0);
    assert.deepEqual(new Set(ended), new Set(['too-slow']));
    await gateway.link.close();
    await Promise.all(calls);
    assert.ok(ended.filter((reason) => reason === 'too-slow').length < 40);
  });
});
