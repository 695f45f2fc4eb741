import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { StreamReply } from '@lockkeeper/pool-manager/link/contract';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { eventually, within } from '../harness/eventually.ts';
import {
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

interface Seen {
  readonly node: string;
  readonly head: Open;
  readonly body: Uint8Array;
  readonly reply: StreamReply;
  vanished: string | null;
}

describe('a node is lost', () => {
  let cluster: Cluster;
  let gateway: TestGateway;
  let nodes: Map<string, TestNode>;
  let seen: Seen[];

  /** Keeps every open for the test to answer. */
  const holding = (node: string) =>
    dispatcherOf((head, body, reply) => {
      const entry: Seen = { node, head, body, reply, vanished: null };
      seen.push(entry);
      return (how) => {
        entry.vanished = how;
      };
    });
  const start = async (id: string) => {
    nodes.set(id, await cluster.node(id, holding(id)));
  };
  const call = (change: Parameters<typeof request>[0] = {}) => gateway.link.call(request(change), deaf, nobodyLeaves());
  const arrived = (n: number) => eventually(() => seen.length >= n && seen[n - 1]);
  const answer = (entry: Seen) => entry.reply.result({ resultType: 'complete' }, Buffer.from(entry.node));

  beforeEach(async () => {
    cluster = createCluster();
    nodes = new Map();
    seen = [];
    await start('n1');
    await start('n2');
    gateway = await cluster.gateway();
  });
  afterEach(() => cluster.stop());

  test('before it started: the call goes to the other node, once', async () => {
    const result = call();
    const first = (await arrived(1)) as Seen;
    await nodes.get(first.node)!.kill();
    const second = (await arrived(2)) as Seen;
    assert.notEqual(second.node, first.node);
    assert.equal(second.head.xid, first.head.xid);
    assert.equal(first.vanished, 'break');
    answer(second);
    assert.equal(textOf(await result), second.node);
  });

  test('after it started: the call is lost, may have run, and is sent nowhere else', async () => {
    const result = call();
    const first = (await arrived(1)) as Seen;
    first.reply.started();
    const other = call({ owner: 'later' });
    await arrived(2);
    await nodes.get(first.node)!.kill();
    const ended = await within(result, 5_000, 'the lost call');
    assert.equal(reasonOf(ended), 'lost');
    assert.equal(ended.kind === 'fault' && ended.fault.mayHaveRun, true);
    assert.equal(seen.filter((s) => s.head.xid === first.head.xid).length, 1);
    answer(seen.findLast((s) => s.head.xid !== first.head.xid)!);
    await other;
  });

  test('started and dead within one burst, it still counts as started', async () => {
    const result = call();
    const first = (await arrived(1)) as Seen;
    first.reply.started();
    // Nothing between the promise and the end: what was promised is on the wire already.
    await nodes.get(first.node)!.kill();
    assert.equal(reasonOf(await result), 'lost');
    assert.equal(seen.length, 1);
  });

  test('promises kept for a flush: flushed they count as started, unflushed they do not', async () => {
    for (const node of nodes.values()) await node.stop();
    const lazy = await cluster.node('lazy', holding('lazy'), { promises: 'by-flush' });
    await eventually(() => gateway.link.nodes() === 1);
    const [kept, broken] = [call({ onVanish: 'keep' }), call({ deadlineMs: 500 })];
    const [first, second] = [(await arrived(1)) as Seen, (await arrived(2)) as Seen];
    first.reply.started();
    lazy.server.flush();
    second.reply.started();
    await lazy.kill();
    assert.equal(reasonOf(await kept), 'lost');
    assert.equal(reasonOf(await broken), 'unavailable');
  });

  test('a safe request is sent once more after it started, and not twice more', async () => {
    await start('n3');
    await eventually(() => gateway.link.nodes() === 3);
    const heard: string[] = [];
    const listener = { event: (method: string) => void heard.push(method) };
    const result = gateway.link.call(request({ safe: true }), listener, nobodyLeaves());
    const first = (await arrived(1)) as Seen;
    first.reply.started();
    first.reply.event('notifications/progress', Buffer.from('"progress":5'));
    await eventually(() => heard.length === 1);
    await nodes.get(first.node)!.kill();
    const second = (await arrived(2)) as Seen;
    second.reply.started();
    // Its progress begins anew, and what its caller hears of it must only rise.
    second.reply.event('notifications/progress', Buffer.from('"progress":1'));
    second.reply.event('notifications/message', Buffer.from('"level":"info","data":1'));
    await eventually(() => heard.includes('notifications/message'));
    assert.deepEqual(heard, ['notifications/progress', 'notifications/message']);
    await nodes.get(second.node)!.kill();
    const ended = await within(result, 5_000, 'the lost call');
    assert.equal(reasonOf(ended), 'lost');
    assert.equal(seen.length, 2);
  });

  test('a node that comes back is connected again and takes calls', async () => {
    const { address } = nodes.get('n1')!;
    await nodes.get('n1')!.kill();
    await eventually(() => gateway.link.nodes() === 1);
    const port = Number(address.split(':')[1]);
    await cluster.node('n1', holding('n1-again'), { listen: { host: '127.0.0.1', port } });
    await eventually(() => gateway.link.nodes() === 2);
    await nodes.get('n2')!.kill();
    const result = call();
    answer((await arrived(1)) as Seen);
    assert.equal(textOf(await result), 'n1-again');
  });

  test('a retry goes only to the life its seal names; without that and without a recorded end it is lost', async () => {
    const lives = [...nodes.values()].map((n) => n.incarnation);
    for (const [i, incarnation] of lives.entries()) {
      const result = call({ incarnation, state: 'opaque' });
      const entry = (await arrived(i + 1)) as Seen;
      assert.equal(nodes.get(entry.node)!.incarnation, incarnation);
      answer(entry);
      await result;
    }
    const retry = call({ incarnation: 'nobody', state: 'opaque' });
    // Nobody is asked to run anything: a node looks whether an end is recorded.
    const { head, body, reply } = (await arrived(3)) as Seen;
    assert.deepEqual([head.wait, head.state, head.incarnation, body.length], [true, 'opaque', undefined, 0]);
    reply.fault({ reason: 'unknown-exchange', code: -32603, message: 'unknown', mayHaveRun: false });
    const ended = await retry;
    assert.equal(reasonOf(ended), 'lost');
    assert.equal(ended.kind === 'fault' && ended.fault.mayHaveRun, true);
    assert.equal(seen.length, 3);
  });

  test('a join without a seal asks every node, draining ones too, before the exchange is unknown', async () => {
    const unknown = { reason: 'unknown-exchange', code: -32603, message: 'unknown', mayHaveRun: false } as const;
    const joined = call({ wait: true });
    const first = (await arrived(1)) as Seen;
    const other = [...nodes.values()].find((n) => n.id !== first.node)!;
    const drained = other.server.close();
    await eventually(() => other.server.stats().draining);
    first.reply.fault(unknown);
    const second = (await arrived(2)) as Seen;
    assert.equal(second.node, other.id);
    answer(second);
    assert.equal(textOf(await joined), other.id);
    await drained;

    const nowhere = call({ wait: true });
    for (const n of [3, 4]) ((await arrived(n)) as Seen).reply.fault(unknown);
    assert.equal(reasonOf(await nowhere), 'unknown-exchange');
    assert.equal(seen.length, 4);
  });

  test('a node that lives again elsewhere is found there, not after the pauses of its former life', async () => {
    const records = () => [...nodes.values()].map((n) => n.registration.current());
    let tell: (list: ReturnType<typeof records>) => void = quiet;
    const watching = await cluster.gateway({
      nodes: {
        live: records,
        onChange: (listener) => {
          tell = listener;
          return quiet;
        },
      },
    });
    await nodes.get('n1')!.kill();
    await eventually(() => watching.link.nodes() === 1);
    await start('n1');
    tell(records());
    await eventually(() => watching.link.nodes() === 2);
    const { incarnation } = nodes.get('n1')!;
    const result = watching.link.call(request({ incarnation }), deaf, nobodyLeaves());
    answer((await arrived(1)) as Seen);
    assert.equal(textOf(await result), 'n1');
  });

  test('without any node a call waits for one, and is unavailable at its deadline', async () => {
    for (const node of nodes.values()) await node.stop();
    await eventually(() => gateway.link.nodes() === 0);
    assert.equal(reasonOf(await call({ deadlineMs: 100 })), 'unavailable');
    const result = call();
    await start('n4');
    answer((await arrived(1)) as Seen);
    assert.equal(textOf(await result), 'n4');
  });

  test('a closed link ends its calls and takes no more', async () => {
    const result = call();
    await arrived(1);
    await gateway.link.close();
    assert.equal(reasonOf(await result), 'lost');
    assert.equal(reasonOf(await call()), 'unavailable');
    await eventually(() => seen[0]!.vanished !== null);
  });
});
