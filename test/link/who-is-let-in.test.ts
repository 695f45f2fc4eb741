import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { eventually, within } from '../harness/eventually.ts';
import { type Cluster, createCluster, deaf, echo, nobodyLeaves, reasonOf, request, textOf } from './cluster.ts';

describe('who is let in', () => {
  let cluster: Cluster;
  let said: string[];
  beforeEach(() => {
    said = [];
    cluster = createCluster((words) => said.push(words));
  });
  afterEach(() => cluster.stop());

  test('a gateway with another secret is not, and the log says why', async () => {
    const node = await cluster.node('n1', echo());
    const stranger = await cluster.gateway({ secret: 'another secret, long enough' });
    assert.equal(stranger.link.nodes(), 0);
    assert.equal(node.server.stats().gateways, 0);
    assert.ok(said.some((words) => /n1: a connection to the link was refused: bad-handshake: wrong proof/.test(words)));
    assert.ok(said.some((words) => /gateway: no connection to node n1/.test(words)));
    assert.equal(reasonOf(await stranger.link.call(request({ deadlineMs: 50 }), deaf, nobodyLeaves())), 'unavailable');
    assert.ok(!said.some((words) => words.includes('secret')));
  });

  test('a stranger that speaks something else is closed, and the node lives on', async () => {
    const node = await cluster.node('n1', echo());
    const [host, port] = node.address.split(':');
    for (const words of ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', '\0'.repeat(40), '\xff'.repeat(5000)]) {
      const socket = connect(Number(port), host);
      const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined));
      socket.write(Buffer.from(words, 'latin1'));
      socket.resume();
      await within(closed, 5_000, 'the stranger’s socket');
    }
    const gateway = await cluster.gateway();
    assert.equal(textOf(await gateway.link.call(request({ body: Buffer.from('x') }), deaf, nobodyLeaves())), 'x');
  });

  test('over a unix socket it is the same link', async () => {
    const path = join(tmpdir(), `lk-${process.pid}-${Date.now()}.sock`);
    const node = await cluster.node('n1', echo(), { listen: { path } });
    assert.equal(node.address, `unix:${path}`);
    const gateway = await cluster.gateway();
    assert.equal(textOf(await gateway.link.call(request({ body: Buffer.from('x') }), deaf, nobodyLeaves())), 'x');
  });

  test('over TLS it is the same link, and without TLS nobody gets in', async () => {
    const key = Buffer.from('d731ef57be09e5204f0b205b60627028', 'hex');
    const psk = { ciphers: 'PSK', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
    await cluster.node('n1', echo(), { tls: { ...psk, pskCallback: () => key, pskIdentityHint: 'link' } });
    const tls = {
      ...psk,
      pskCallback: () => ({ psk: key, identity: 'gateway' }),
      checkServerIdentity: () => undefined,
    };
    const gateway = await cluster.gateway({ tls });
    const body = Buffer.alloc(300_000, 'x');
    const answer = await gateway.link.call(request({ body }), deaf, nobodyLeaves());
    assert.equal(answer.kind === 'result' && body.equals(answer.body), true);
    const plain = await cluster.gateway();
    assert.equal(plain.link.nodes(), 0);
  });

  test('a node with too many streams says busy, and serves again when they ended', async () => {
    const ends: (() => void)[] = [];
    await cluster.node(
      'n1',
      {
        ...echo(),
        open: (_head, body, reply) => {
          ends.push(() => reply.result({ resultType: 'complete' }, body));
          return { vanished: () => undefined };
        },
      },
      { maxStreams: 2 },
    );
    const gateway = await cluster.gateway();
    const call = () => gateway.link.call(request(), deaf, nobodyLeaves());
    const open = [call(), call()];
    await eventually(() => ends.length === 2);
    assert.equal(reasonOf(await call()), 'busy');
    for (const end of ends.splice(0)) end();
    await Promise.all(open);
    const again = call();
    await eventually(() => ends.length === 1);
    ends[0]!();
    assert.equal(reasonOf(await again), 'result');
  });

  test('what was read after a stall is not acted on: the gateways are let go and come again', async () => {
    let ran = 0;
    let stalled = false;
    const listeners: (() => void)[] = [];
    const stall = {
      check: () => {
        if (!stalled) return false;
        stalled = false;
        for (const listener of listeners) listener();
        return true;
      },
      onStall: (listener: () => void) => {
        listeners.push(listener);
        return () => undefined;
      },
    };
    await cluster.node(
      'n1',
      {
        ...echo(),
        open: (_head, body, reply) => {
          ran += 1;
          reply.result({ resultType: 'complete' }, body);
          return { vanished: () => undefined };
        },
      },
      { stall },
    );
    const gateway = await cluster.gateway();
    await gateway.link.call(request(), deaf, nobodyLeaves());
    assert.equal(ran, 1);
    stalled = true;
    const answer = await gateway.link.call(request({ body: Buffer.from('x') }), deaf, nobodyLeaves());
    assert.equal(textOf(answer), 'x');
    assert.equal(ran, 2);
    assert.ok(said.some((words) => words.includes('this node stood still')));
  });

  test('a dispatcher that throws fails its call as internal and nothing else', async () => {
    await cluster.node('n1', {
      ...echo(),
      open: (head, body, reply) => {
        if (head.method === 'bad') throw new Error('a bug');
        reply.result({ resultType: 'complete' }, body);
        return { vanished: () => undefined };
      },
      cancel: () => {
        throw new Error('a bug');
      },
    });
    const gateway = await cluster.gateway();
    const call = (method: string) => gateway.link.call(request({ method }), deaf, nobodyLeaves());
    assert.equal(reasonOf(await call('bad')), 'internal');
    gateway.link.cancel('acme', null, 'x', request().principal, null);
    assert.equal(reasonOf(await call('good')), 'result');
  });

  test('a new incarnation is told to the gateways, and retries under the old one are lost', async () => {
    let life = 'first';
    const node = await cluster.node('n1', echo(), { incarnation: () => life });
    const gateway = await cluster.gateway();
    const call = (incarnation: string) => gateway.link.call(request({ incarnation }), deaf, nobodyLeaves());
    assert.equal(reasonOf(await call('first')), 'result');
    life = 'second';
    assert.equal(reasonOf(await call('first')), 'lost');
    node.server.announce();
    await eventually(async () => reasonOf(await call('second')) === 'result');
    assert.equal(reasonOf(await call('first')), 'lost');
  });
});
