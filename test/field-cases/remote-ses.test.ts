// Field cases of class SES with remote servers: is a session that a server forgets, breaks or never had made good without
// the caller's doing, and without running a call twice?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { type Balancer, startBalancer } from '../servers/http/balancer.ts';
import { type RawUpstream, startRawUpstream } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage } from './remote-stage.ts';
import { asker, assertCalm, call, ERAS, modernAsker, namesOf, textOf } from './stage.ts';

const TOOLS = ['echo', 'update'].map((name) => ({ name, inputSchema: { type: 'object', properties: {} } }));

describe('GB-002: two stateful pods behind one address that alternates per connection', () => {
  let pods: readonly RawUpstream[];
  let balancer: Balancer;
  const start = () => startStandalone({ servers: [{ name: 'pods', http: { url: balancer.url } }] });
  before(async () => {
    pods = await Promise.all([0, 1].map(() => startRawUpstream({ kind: 'legacy' })));
    balancer = await startBalancer(pods.map(({ port }) => port));
  });
  after(async () => {
    await balancer?.close();
    await Promise.all(pods.map((pod) => pod.close()));
  });
  const executed = () => pods.flatMap((pod) => pod.of('tools/call')).length;

  it('serve ten calls of each era, each run once, and five more after a restart of Lockkeeper', async () => {
    const first: Lockkeeper = await start();
    try {
      for (const era of ERAS) {
        const ask = await asker(era, first.route('/acme/pods/mcp'));
        for (let n = 0; n < 10; n += 1) assert.match(textOf(await call(ask, 'echo', { n })), new RegExp(`"n":${n}`));
      }
    } finally {
      await first.stop();
    }
    const second = await start();
    try {
      const ask = modernAsker(second.route('/acme/pods/mcp'));
      for (let n = 0; n < 5; n += 1) assert.match(textOf(await call(ask, 'echo', { n })), new RegExp(`"n":${n}`));
    } finally {
      await second.stop();
    }
    // A pod that does not know the session says 404 and has run nothing.
    assert.ok(executed() >= 25);
  });
});

describe('with servers of our own making', () => {
  let stage: RemoteStage<'a' | 'b' | 'one' | 'two' | 'three' | 'stale' | 'fragile' | 'free' | 'strict'>;
  before(async () => {
    stage = await openRemoteStage({
      a: { kind: 'legacy' },
      b: { kind: 'legacy' },
      one: { kind: 'legacy' },
      two: { kind: 'legacy', replies: 'sse' },
      three: { kind: 'sse' },
      stale: { kind: 'legacy', tools: TOOLS },
      fragile: { kind: 'legacy' },
      free: { kind: 'stateless', replies: 'sse', tools: TOOLS },
      strict: { kind: 'legacy' },
    });
  });
  after(async () => {
    await stage?.stop();
  });

  describe('GB-004: one server of an aggregate that forgets its sessions', () => {
    for (const era of ERAS) {
      it(`is introduced to anew, and a ${era} client notices nothing`, async () => {
        const { a, b } = stage.up;
        const ask = await asker(era, stage.aggregate);
        for (const name of ['a__echo', 'b__echo']) await call(ask, name, { round: 1 });
        const [began, run] = [a.of('initialize').length, a.of('tools/call').length];
        const others = b.of('initialize').length;
        a.forget();
        for (const name of ['a__echo', 'b__echo', 'a__echo']) {
          assert.match(textOf(await call(ask, name, { round: 2 })), /"round":2/);
        }
        assert.equal(a.of('initialize').length, began + 1);
        // One was answered 404 and came again; two have run.
        assert.equal(a.of('tools/call').length, run + 3);
        assert.equal(b.of('initialize').length, others);
      });
    }
  });

  describe('GB-005: idle expiry', () => {
    it('behind every route: all calls succeed, before and after', async () => {
      for (const name of ['one', 'two', 'three'] as const) {
        for (const era of ERAS) {
          const ask = await asker(era, stage.at(name));
          assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
        }
      }
      for (const name of ['one', 'two'] as const) stage.up[name].forget();
      stage.up.three.cut();
      for (const name of ['one', 'two', 'three'] as const) {
        for (const era of ERAS) {
          const ask = await asker(era, stage.at(name));
          assert.match(textOf(await call(ask, 'echo', { n: 2 })), /"n":2/);
        }
      }
    });
  });

  describe('GB-006: an answer that is none', () => {
    for (const [what, status] of [
      ['404 and nothing', 404],
      ['200 and nothing', 200],
      ['202', 202],
      ['204', 204],
    ] as const) {
      for (const era of ERAS) {
        it(`(${what}) to a call is an error for a ${era} client, never an empty success`, async () => {
          const up = stage.up.stale;
          const ask = await asker(era, stage.at('stale'));
          assert.deepEqual(namesOf(await ask('tools/list')), ['echo', 'update']);
          const before = up.of('tools/call').length;
          up.when('tools/call', (reply) => reply.body(status, {}));
          const { error, result } = await call(ask, 'update', { v: 1 });
          up.behave();
          assert.ok(error !== undefined || result?.isError === true, JSON.stringify(result));
          if (result) assert.ok((result.content as unknown[]).length > 0);
          const sent = up.of('tools/call').length - before;
          assert.ok(sent <= (status === 404 ? 2 : 1), `${sent} times`);
          assert.match(textOf(await call(ask, 'update', { v: 2 })), /"v":2/);
        });
      }
    }
  });

  describe('GB-006: 404 for what a server does not have', () => {
    it('is that request’s error where a ping is answered, and the session goes on', async () => {
      const up = stage.up.stale;
      for (const era of ERAS) {
        const ask = await asker(era, stage.at('stale'));
        await call(ask, 'update', { v: 1 });
        const began = up.of('initialize').length;
        const calls = up.of('tools/call').length;
        up.when('tools/call', (reply, { message }) =>
          reply.json({ jsonrpc: '2.0', id: message?.id, error: { code: -32602, message: 'no such tool' } }, 404),
        );
        const { error } = await call(ask, 'update', { v: 2 });
        assert.deepEqual([error?.code, error?.message], [-32602, 'no such tool']);
        up.behave();
        assert.match(textOf(await call(ask, 'update', { v: 3 })), /"v":3/);
        assert.equal(up.of('initialize').length, began);
        assert.equal(up.of('tools/call').length, calls + 2);
      }
    });
  });

  describe('GB-007: a session after failures', () => {
    it('serves the next call when a client left, a connection was reset, a reply was cut in the middle', async () => {
      const up = stage.up.fragile;
      const ask = modernAsker(stage.at('fragile'));
      await ask('tools/list');
      up.when('tools/call', () => undefined, 1);
      const wish = { method: 'tools/call', params: { name: 'echo', arguments: { slow: true } } };
      const left = sendRaw(stage.at('fragile'), modernRequest(wish)).catch(() => null);
      await eventually(() => up.of('tools/call').length === 1);
      void left.then((response) => response?.destroy());
      up.when('tools/call', (reply) => reply.reset(), 1);
      const reset = await call(ask, 'echo', { n: 1 });
      assert.match(textOf(reset), /may have run/);
      up.when(
        'tools/call',
        (reply) => {
          const stream = reply.stream();
          stream.write('data: {"jsonrpc":"2.0","id"');
          stream.cut();
        },
        1,
      );
      assert.match(textOf(await call(ask, 'echo', { n: 2 })), /may have run/);
      assert.match(textOf(await call(ask, 'echo', { n: 3 })), /"n":3/);
      assert.equal(up.of('tools/call').length, 4);
    });
  });

  describe('GB-012: a server without session ids and without a GET stream', () => {
    it('lists, is called, and is not asked for its stream again and again', async () => {
      const { free } = stage.up;
      for (const era of ERAS) {
        const ask = await asker(era, stage.at('free'));
        assert.deepEqual(namesOf(await ask('tools/list')), ['echo', 'update']);
        for (let n = 0; n < 5; n += 1) await call(ask, 'echo', { n });
      }
      assert.ok(free.seen.every(({ headers }) => headers['mcp-session-id'] === undefined));
      assert.ok(free.of('GET').length <= free.of('initialize').length, `${free.of('GET').length} GETs`);
      assert.equal(free.of('DELETE').length, 0);
      const names = (await modernAsker(stage.aggregate)('tools/list').then((answer) => namesOf(answer))) as string[];
      assert.ok(names.includes('free__echo') && names.includes('a__echo'));
    });
  });

  describe('GB-013: a strict server that is idle', () => {
    it('gets nothing that lacks its session or its version, and keeps its tools', async () => {
      const { strict } = stage.up;
      const ask = modernAsker(stage.at('strict'));
      await call(ask, 'echo', {});
      for (const one of strict.seen) {
        if (one.message?.method === 'server/discover' || one.message?.method === 'initialize') continue;
        assert.ok(one.headers['mcp-session-id'], JSON.stringify(one));
        assert.equal(one.headers['mcp-protocol-version'], '2025-11-25', JSON.stringify(one));
      }
      // What no session of ours is told is told again at the next need, whoever said no to what in between.
      strict.when('ping', (reply) => reply.body(400, {}));
      assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
      strict.behave();
    });
  });

  it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
});
