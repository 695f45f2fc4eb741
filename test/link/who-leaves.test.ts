import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { StreamReply } from '@lockkeeper/pool-manager/link/contract';
import type { Cancel, Listen, Notify, Open } from '@lockkeeper/protocol/link/frames';
import { eventually } from '../harness/eventually.ts';
import {
  ALICE,
  type Cluster,
  createCluster,
  deaf,
  nobodyLeaves,
  reasonOf,
  request,
  type TestGateway,
  type TestNode,
  textOf,
} from './cluster.ts';

const BOB = { ...ALICE, subject: 'bob' };
const MIB = 1024 * 1024;

describe('who leaves, and who is told', () => {
  let cluster: Cluster;
  let one: TestGateway;
  let two: TestGateway;
  let node: TestNode;
  let opens: { head: Open; reply: StreamReply; vanished: string[] }[];
  let listens: { head: Listen; reply: StreamReply; vanished: string[] }[];
  let cancels: Cancel[];
  let notes: Notify[];

  beforeEach(async () => {
    cluster = createCluster();
    opens = [];
    listens = [];
    cancels = [];
    notes = [];
    node = await cluster.node('n1', {
      open: (head, _body, reply) => {
        const entry = { head, reply, vanished: [] as string[] };
        opens.push(entry);
        return { vanished: (how) => entry.vanished.push(how) };
      },
      cancel: (head) => cancels.push(head),
      listen: (head, reply) => {
        const entry = { head, reply, vanished: [] as string[] };
        listens.push(entry);
        return { vanished: (how) => entry.vanished.push(how) };
      },
      notify: (head) => notes.push(head),
    });
    [one, two] = [await cluster.gateway(), await cluster.gateway()];
  });
  afterEach(() => cluster.stop());

  test('a caller that leaves is a close, and its call is cancelled here at once', async () => {
    const leaving = new AbortController();
    const result = one.link.call(request(), deaf, leaving.signal);
    await eventually(() => opens.length === 1);
    leaving.abort();
    assert.equal(reasonOf(await result), 'cancelled');
    await eventually(() => opens[0]!.vanished.length === 1);
    assert.deepEqual(opens[0]!.vanished, ['close']);
    assert.equal(node.server.stats().streams, 0);
  });

  test('a caller that left before it called sends nothing', async () => {
    const result = await one.link.call(request(), deaf, AbortSignal.abort());
    assert.equal(reasonOf(result), 'cancelled');
    await one.link.call(request({ deadlineMs: 1 }), deaf, AbortSignal.abort());
    assert.equal(opens.length, 0);
  });

  test('a gateway that dies is a break for each of its streams, and for no other', async () => {
    const lost = [one.link.call(request(), deaf, nobodyLeaves()), one.link.call(request(), deaf, nobodyLeaves())];
    const kept = two.link.call(request(), deaf, nobodyLeaves());
    await eventually(() => opens.length === 3);

    await cutOff(one);
    for (const call of lost) assert.equal(reasonOf(await call), 'lost');
    const own = opens.filter((o) => o.vanished.length > 0);
    assert.deepEqual(
      own.map((o) => o.vanished),
      [['break'], ['break']],
    );
    opens.find((o) => o.vanished.length === 0)!.reply.result({ resultType: 'complete' }, Buffer.from('kept'));
    assert.equal(textOf(await kept), 'kept');
  });

  test('a node that is told nothing after its answer: no stream vanishes that has ended', async () => {
    const leaving = new AbortController();
    const result = one.link.call(request(), deaf, leaving.signal);
    await eventually(() => opens.length === 1);
    opens[0]!.reply.result({ resultType: 'complete' }, Buffer.from('done'));
    assert.equal(textOf(await result), 'done');
    leaving.abort();
    await cutOff(one);
    await eventually(() => node.server.stats().gateways === 1);
    assert.deepEqual(opens[0]!.vanished, []);
  });

  test('a cancel by another gateway finds the exchange at its owner’s node', async () => {
    const asked = request();
    const result = one.link.call(asked, deaf, nobodyLeaves());
    await eventually(() => opens.length === 1);
    two.link.cancel('acme', asked.owner, asked.xid, ALICE, null);
    await eventually(() => cancels.length === 1);
    assert.deepEqual([cancels[0]!.xid, cancels[0]!.principal], [asked.xid, ALICE]);
    opens[0]!.reply.fault({ reason: 'cancelled', code: -32603, message: 'cancelled', mayHaveRun: true });
    assert.equal(reasonOf(await result), 'cancelled');
  });

  test('a cancel for what was not seen yet stops it when it comes; another person’s cancel does not', async () => {
    const [mine, theirs] = [request(), request()];
    two.link.cancel('acme', null, mine.xid, ALICE, null);
    two.link.cancel('acme', null, theirs.xid, BOB, null);
    await eventually(() => cancels.length === 2);
    const stopped = await one.link.call(mine, deaf, nobodyLeaves());
    assert.equal(reasonOf(stopped), 'cancelled');
    assert.equal(stopped.kind === 'fault' && stopped.fault.mayHaveRun, false);
    const runs = one.link.call(theirs, deaf, nobodyLeaves());
    await eventually(() => opens.length === 1);
    opens[0]!.reply.result({ resultType: 'complete' }, Buffer.from('ran'));
    assert.equal(textOf(await runs), 'ran');
  });

  test('a cancel overtakes a bulk open and the open does not run', async () => {
    const asked = request({ body: Buffer.alloc(8 * MIB) });
    const result = one.link.call(asked, deaf, nobodyLeaves());
    one.link.cancel('acme', asked.owner, asked.xid, ALICE, null);
    assert.equal(reasonOf(await result), 'cancelled');
    assert.equal(opens.length, 0);
    assert.equal(cancels.length, 1);
  });

  test('listens and notifies are carried, and a closed listen is a close', async () => {
    const events: string[] = [];
    const { server, digest, owner } = request();
    const filter = {
      tools: true,
      prompts: false,
      resources: true,
      uris: ['file:///a'],
      taskIds: [],
      log: 'info',
    } as const;
    const wish = { owner, server, digest, principal: ALICE, session: 's1', capabilities: {}, filter };
    const listening = one.link.listen(wish, {
      event: (method, members, seq) => void events.push(`${seq} ${method} ${Buffer.from(members)}`),
      ended: () => events.push('ended'),
    });
    await eventually(() => listens.length === 1);
    assert.deepEqual(listens[0]!.head.filter, filter);
    listens[0]!.reply.event('notifications/tools/list_changed', Buffer.from(''));
    listens[0]!.reply.event('notifications/resources/updated', Buffer.from('"uri":"file:///a"'));
    await eventually(() => events.length === 2);
    assert.deepEqual(events, [
      '1 notifications/tools/list_changed ',
      '2 notifications/resources/updated "uri":"file:///a"',
    ]);
    listening.close();
    await eventually(() => listens[0]!.vanished.length === 1);
    assert.deepEqual([listens[0]!.vanished, events.length], [['close'], 2]);

    const method = 'notifications/roots/list_changed' as const;
    one.link.notify({ owner, server, digest, principal: ALICE, session: 's1', method });
    await eventually(() => notes.length === 1);
    assert.deepEqual(notes[0], { kind: 'notify', server, digest, principal: ALICE, session: 's1', method });
  });

  test('a listener that joins later is numbered from where it was', async () => {
    const seqs: number[] = [];
    const result = one.link.call(
      request({ fromSeq: 7 }),
      { event: (_m, _b, seq) => void seqs.push(seq) },
      nobodyLeaves(),
    );
    await eventually(() => opens.length === 1);
    opens[0]!.reply.event('m', Buffer.from(''));
    opens[0]!.reply.event('m', Buffer.from(''));
    opens[0]!.reply.result({ resultType: 'complete' }, Buffer.from(''));
    const answer = await result;
    assert.deepEqual(seqs, [8, 9]);
    assert.equal(answer.kind === 'result' && answer.head.seq, 10);
  });

  /** Ends a gateway the way its own end looks to the node. */
  async function cutOff(gateway: TestGateway): Promise<void> {
    await gateway.link.close();
    await eventually(() => node.server.stats().gateways === 1);
  }
});
