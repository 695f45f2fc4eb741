// Field cases of class ERA with remote servers: is every server spoken to in its own era, whatever it answers to the probe,
// what is no evidence, and does a verdict that proves wrong heal itself?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import type { Reply } from '../servers/http/raw-reply.ts';
import { kindOf, type Seen } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage, type RemoteWish } from './remote-stage.ts';
import { asker, assertCalm, call, ERAS, type Json, modernAsker, namesOf, textOf } from './stage.ts';

type Say = (reply: Reply, seen: Seen) => void;
const error = (code: number, message: string, status: number): Say => {
  return (reply, { message: asked }) =>
    reply.json({ jsonrpc: '2.0', id: status === 200 ? asked?.id : null, error: { code, message } }, status);
};

/** What public legacy servers say to a modern request. */
const REFUSALS: Readonly<Record<string, Say>> = {
  'version-400': error(-32000, 'Unsupported protocol version', 400),
  'session-400': error(-32600, 'Missing session ID', 400),
  'empty-400': (reply) => reply.body(400, {}),
  'text-400': (reply) => reply.body(400, { 'content-type': 'text/plain' }, 'Bad Request'),
  'html-404': (reply) => reply.body(404, { 'content-type': 'text/html' }, '<h1>Not found</h1>'),
  'bare-405': (reply) => reply.body(405, { allow: 'POST' }),
  'unprocessable-422': (reply) => reply.body(422, {}, 'unprocessable'),
  'params-200': error(-32602, 'Invalid params', 200),
  'method-200': error(-32601, 'Method not found', 200),
  'method-404': error(-32601, 'Method not found', 404),
  'empty-result': (reply, { message }) => reply.json({ jsonrpc: '2.0', id: message?.id, result: {} }),
};

/** What says nothing of an era. */
const NO_EVIDENCE: Readonly<Record<string, Say>> = {
  'unauthorized-401': (reply) => reply.body(401, { 'www-authenticate': 'Bearer' }),
  'forbidden-403': (reply) => reply.body(403, { 'content-type': 'text/html' }, '<h1>No</h1>'),
  'busy-429': (reply) => reply.body(429, { 'retry-after': '1' }),
  'broken-500': (reply) => reply.body(500, { 'content-type': 'text/html' }, '<h1>Oops</h1>'),
  'away-503': (reply) => reply.body(503, {}),
  'elsewhere-302': (reply) => reply.body(302, { location: 'https://login.example/start' }),
  reset: (reply) => reply.reset(),
};

const PATIENCE = { deadlineMs: 20_000, everyMs: 200 };
const SHORT = { startTimeoutMs: 2_000 };
let stage: RemoteStage<string>;
const upstream = (name: string) => stage.up[name]!;

before(async () => {
  const each = (prefix: string, table: Readonly<Record<string, unknown>>, wish: RemoteWish) =>
    Object.fromEntries(Object.keys(table).map((name) => [`${prefix}-${name}`, wish]));
  stage = await openRemoteStage<string>({
    ...each('r', REFUSALS, { kind: 'legacy' }),
    ...each('n', NO_EVIDENCE, { kind: 'modern', more: SHORT }),
    hangs: { kind: 'legacy', more: { startTimeoutMs: 3_000 } },
    newer: { kind: 'modern' },
    again: { kind: 'modern' },
    'mute-list': { kind: 'dual', more: { callTimeoutMs: 800 } },
    beside: { kind: 'modern' },
    charges: { kind: 'legacy' },
    upgraded: { kind: 'dual' },
    downgraded: { kind: 'dual' },
    old: { kind: 'sse' },
  });
  for (const [name, say] of Object.entries(REFUSALS)) upstream(`r-${name}`).when('server/discover', say);
});
after(async () => {
  await stage?.stop();
});

describe('GB-034: an answer to the probe that is not modern', () => {
  for (const name of Object.keys(REFUSALS)) {
    it(`(${name}) means legacy: the server is introduced to and serves both eras`, async () => {
      const up = upstream(`r-${name}`);
      for (const era of ERAS) {
        const ask = await asker(era, stage.at(`r-${name}`));
        assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
        assert.match(textOf(await call(ask, 'echo', { era })), new RegExp(era));
      }
      assert.deepEqual(up.seen.slice(0, 3).map(kindOf), ['server/discover', 'initialize', 'notifications/initialized']);
      assert.equal(up.of('server/discover').length, 1, 'the verdict is kept');
    });
  }

  it('a server of 2024-11-05 is found by its stream', async () => {
    for (const era of ERAS) {
      assert.match(textOf(await call(await asker(era, stage.at('old')), 'echo', { era })), new RegExp(era));
    }
    const asked = upstream('old').seen.filter(({ verb, path }) => verb === 'GET' || path === '/sse');
    assert.deepEqual(asked.map(kindOf).slice(0, 3), ['server/discover', 'initialize', 'GET']);
  });
});

describe('what is no evidence', () => {
  for (const [name, say] of Object.entries(NO_EVIDENCE)) {
    it(`(${name}) is an error, no verdict: once it is over, the server is found as what it is`, async () => {
      const up = upstream(`n-${name}`);
      const ask = modernAsker(stage.at(`n-${name}`));
      up.when('server/discover', say);
      const { error: refused } = await ask('tools/list');
      assert.ok(refused !== undefined);
      assert.equal(up.of('initialize').length, 0, 'never introduced to');
      assert.equal(up.of('tools/list').length, 0);
      up.behave();
      // Failed starts are spaced out.
      await eventually(async () => assert.deepEqual(namesOf(await ask('tools/list')), ['echo']), PATIENCE);
      assert.equal(up.of('initialize').length, 0);
    });
  }
});

describe('GB-035, GB-036: a server that never answers the probe', () => {
  it('GB-035: is introduced to after a part of the start time, and serves', async () => {
    upstream('hangs').when('server/discover', () => undefined);
    assert.match(textOf(await call(modernAsker(stage.at('hangs')), 'echo', { n: 1 })), /"n":1/);
  });

  it('GB-036: initialize has a time of its own', async () => {
    const hangs = upstream('hangs');
    assert.equal(hangs.of('initialize').length, 1);
    assert.equal(hangs.of('server/discover').length, 1);
  });
});

describe('GB-039: -32022 to the probe', () => {
  it('without a revision in common is an error that names both sets, and no initialize is sent', async () => {
    const newer = upstream('newer');
    newer.when('server/discover', (reply, { message }) => {
      const data = { supported: ['2026-10-01'], requested: '2026-07-28' };
      reply.json({ jsonrpc: '2.0', id: message?.id, error: { code: -32022, message: 'x', data } }, 400);
    });
    const said = textOf(await call(modernAsker(stage.at('newer')), 'echo'));
    assert.match(said, /2026-10-01/);
    assert.match(said, /2026-07-28/);
    assert.equal(newer.of('initialize').length, 0);
  });

  it('with one is asked again, and the server is modern', async () => {
    const again = upstream('again');
    again.when(
      'server/discover',
      (reply, { message }) => {
        const data = { supported: ['2026-07-28'], requested: '2026-07-28' };
        reply.json({ jsonrpc: '2.0', id: message?.id, error: { code: -32022, message: 'x', data } }, 400);
      },
      1,
    );
    assert.match(textOf(await call(modernAsker(stage.at('again')), 'echo', { n: 1 })), /"n":1/);
    assert.equal(again.of('initialize').length, 0);
  });
});

describe('GB-041: discover works and the list hangs', () => {
  it('fails in time for that server only', async () => {
    upstream('mute-list').when('tools/list', () => undefined);
    for (const era of ERAS) {
      const alone = await (await asker(era, stage.at('mute-list')))('tools/list');
      assert.match(alone.error?.message ?? '', /did not answer in time; nothing has run/);
    }
    assert.deepEqual(namesOf(await modernAsker(stage.at('beside'))('tools/list')), ['echo']);
  });
});

describe('GB-043: a legacy server that would run a call before initialize', () => {
  it('gets a client’s first call once, after its introduction, and never as a probe', async () => {
    const charges = upstream('charges');
    await call(modernAsker(stage.at('charges')), 'echo', { amount: 1 });
    assert.deepEqual(charges.seen.map(kindOf).filter((kind) => kind === 'tools/call').length, 1);
    const order = charges.seen.map(kindOf);
    assert.ok(order.indexOf('initialize') < order.indexOf('tools/call'));
    assert.equal(order[0], 'server/discover');
  });
});

describe('a verdict that proves wrong', () => {
  const serves = (name: string) => eventually(async () => textOf(await called(name)), PATIENCE);
  const called = async (name: string) => {
    const answer = await call(modernAsker(stage.at(name)), 'echo', {});
    assert.ok(answer.result && answer.result.isError !== true, JSON.stringify(answer.message));
    return answer;
  };

  it('heals when a legacy server comes back modern', async () => {
    const upgraded = upstream('upgraded');
    upgraded.when('server/discover', error(-32601, 'Method not found', 404));
    await serves('upgraded');
    assert.equal(upgraded.of('initialize').length, 1);
    upgraded.behave();
    upgraded.forget();
    upgraded.when('initialize', error(-32601, 'Method not found; this server speaks 2026-07-28', 404));
    await serves('upgraded');
    assert.equal(envelopeOf(upgraded.of('tools/call').at(-1)!), '2026-07-28');
  });

  it('heals when a modern server comes back legacy', async () => {
    const downgraded = upstream('downgraded');
    await serves('downgraded');
    assert.equal(envelopeOf(downgraded.of('tools/call').at(-1)!), '2026-07-28');
    for (const method of ['server/discover', 'tools/list', 'tools/call']) {
      downgraded.when(method, (reply, seen) => {
        if (envelopeOf(seen) !== undefined || method === 'server/discover') {
          return error(-32000, 'Bad Request: Server not initialized', 400)(reply, seen);
        }
        const result = method === 'tools/list' ? { tools: [] } : { content: [{ type: 'text', text: 'legacy' }] };
        return reply.json({ jsonrpc: '2.0', id: seen.message?.id, result });
      });
    }
    await serves('downgraded');
    assert.ok(downgraded.of('initialize').length >= 1);
  });
});

const envelopeOf = ({ message }: Seen) =>
  ((message?.params?._meta ?? {}) as Json)['io.modelcontextprotocol/protocolVersion'];

it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
