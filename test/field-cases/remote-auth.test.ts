// Field cases of class AUTH (those about upstreams) and GB-121 with remote servers: does anything of who calls us reach a
// server, and anything of what a server wants from its clients reach ours?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { freePort } from '../harness/ports.ts';
import { sendRaw } from '../harness/raw.ts';
import { type RawUpstream, startRawUpstream } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage } from './remote-stage.ts';
import { asker, call, ERAS, type Json, modernAsker, textOf } from './stage.ts';

const SECRET = 'the-operators-secret';
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

let issuer: Issuer;
let stage: RemoteStage<'old' | 'new' | 'older' | 'plain'>;
let elsewhere: RawUpstream;

before(async () => {
  issuer = createIssuer();
  elsewhere = await startRawUpstream({ kind: 'modern', port: await freePort() });
  const http = { headers: { authorization: 'Bearer ${env:UPSTREAM_TOKEN}', 'x-team': 'blue' } };
  const everything = { tools: ['*'], prompts: ['*'], resources: ['*'] };
  stage = await openRemoteStage(
    {
      old: { kind: 'legacy', http },
      new: { kind: 'modern', http },
      older: { kind: 'sse', http },
      plain: { kind: 'modern' },
    },
    {
      auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
      policy: [
        {
          tenant: 'acme',
          groups: ['dev'],
          allow: ['old', 'new', 'older', 'plain'].map((server) => ({ server, ...everything })),
        },
      ],
      env: { UPSTREAM_TOKEN: SECRET },
    },
  );
});
after(async () => {
  await stage?.stop();
  await elsewhere?.close();
  issuer?.close();
});

const NAMES = ['old', 'new', 'older', 'plain'] as const;
const tokenFor = (name: (typeof NAMES)[number]) => issuer.token({ audience: stage.at(name) });
const CARRIED = {
  cookie: 'sid=tok-cookie',
  'proxy-authorization': 'Bearer tok-proxy',
  'x-api-key': 'tok-api-key',
  'x-forwarded-user': 'tok-user',
  'x-forwarded-for': '203.0.113.9',
  forwarded: 'for=203.0.113.9',
  'x-mcp-auth': 'tok-mcp',
  dpop: 'tok-dpop',
  origin: undefined,
};

describe('GB-121: what a client sends to the gateway', () => {
  for (const name of NAMES) {
    for (const era of ERAS) {
      it(`does not reach the ${name} server, whose credentials are the operator’s, from a ${era} client`, async () => {
        const token = tokenFor(name);
        const ask = await asker(era, stage.at(name), token);
        assert.match(textOf(await call(ask, 'echo', { n: 1 }, { headers: CARRIED })), /"n":1/);
        const { seen } = stage.up[name];
        assert.ok(seen.length > 0);
        for (const one of seen) {
          const all = JSON.stringify([one.rawHeaders, one.path, one.text]);
          for (const mark of ['tok-', token, '203.0.113.9', issuer.issuer])
            assert.ok(!all.includes(mark), `${mark}: ${all}`);
          assert.equal(one.headers.authorization, name === 'plain' ? undefined : `Bearer ${SECRET}`);
          assert.equal(one.headers['x-team'], name === 'plain' ? undefined : 'blue');
          assert.equal(one.headers.cookie, undefined);
        }
      });
    }
  }

  it('baggage is none of these: it is for whoever traces the call', async () => {
    const meta = { baggage: 'k=v' };
    await call(modernAsker(stage.at('plain'), tokenFor('plain')), 'echo', {}, { meta });
    const sent = (stage.up.plain.of('tools/call').at(-1)!.message!.params!._meta ?? {}) as Json;
    assert.equal(sent.baggage, 'k=v');
  });
});

describe('GB-121: credentials of a server', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`are not sent on to another origin by ${status}, nor is the call`, async () => {
      const up = stage.up.new;
      const ask = modernAsker(stage.at('new'), tokenFor('new'));
      await ask('tools/list');
      up.when('tools/call', (reply) => reply.body(status, { location: elsewhere.url }), 1);
      const { result, error } = await call(ask, 'echo');
      assert.ok(error !== undefined || result?.isError === true);
      assert.deepEqual(elsewhere.seen, []);
    });
  }

  it('are not sent to another origin that an endpoint event names', async () => {
    const up = stage.up.older;
    const ask = modernAsker(stage.at('older'), tokenFor('older'));
    up.cut();
    up.when('GET', (reply) => reply.stream().event({ event: 'endpoint', data: `${elsewhere.url}?s=1` }), 3);
    const { result, error } = await call(ask, 'echo');
    up.behave();
    assert.ok(error !== undefined || result?.isError === true);
    assert.deepEqual(elsewhere.seen, []);
  });

  it('are set by no server: its cookies are forgotten', async () => {
    const up = stage.up.new;
    const ask = modernAsker(stage.at('new'), tokenFor('new'));
    up.when(
      'tools/call',
      (reply, { message }) => {
        const result = { resultType: 'complete', content: [] };
        reply.json({ jsonrpc: '2.0', id: message?.id, result }, 200, { 'set-cookie': 'sid=theirs; Path=/' });
      },
      1,
    );
    const { headers } = await call(ask, 'echo');
    assert.equal(headers.get('set-cookie'), undefined);
    await call(ask, 'echo');
    assert.equal(up.of('tools/call').at(-1)!.headers.cookie, undefined);
  });

  it('are in no log and in no answer, though the server repeats what it was sent', async () => {
    const up = stage.up.new;
    const ask = modernAsker(stage.at('new'), tokenFor('new'));
    await ask('tools/list');
    up.when('tools/call', (reply, { headers }) => reply.body(500, {}, JSON.stringify(headers)), 1);
    const failed = await call(ask, 'echo');
    up.when('tools/call', (reply, { headers }) => reply.body(400, {}, JSON.stringify(headers)), 1);
    const refused = await call(ask, 'echo');
    for (const { message, headers } of [failed, refused]) {
      assert.ok(!JSON.stringify([message, [...headers]]).includes(SECRET));
    }
    assert.ok(!stage.lockkeeper.process.logs().includes(SECRET));
    assert.ok(!stage.lockkeeper.process.logs().includes('eyJ'));
    const metrics = await (await fetch(`${stage.lockkeeper.admin}/metrics`)).text();
    assert.ok(!metrics.includes(SECRET));
  });
});

describe('GB-103: metadata of a server', () => {
  it('is not ours: ours names the route and our issuer, whatever the server says of itself', async () => {
    const up = stage.up.plain;
    const theirs = { resource: 'https://up.example/mcp', authorization_servers: ['https://as.up.example'] };
    up.when('GET', (reply) => reply.json(theirs));
    const path = '/acme/plain/mcp';
    const response = await sendRaw(stage.lockkeeper.route(`${WELL_KNOWN}${path}`), { method: 'GET' });
    const { resource, authorization_servers } = (await response.json()) as Json;
    response.destroy();
    up.behave();
    assert.deepEqual([resource, authorization_servers], [stage.at('plain'), [issuer.issuer]]);
  });
});

describe('GB-116: one caller’s credentials', () => {
  it('make no difference to what a server with its own credentials lists', async () => {
    const token = tokenFor('new');
    const ask = modernAsker(stage.at('new'), token);
    const plain = await ask('tools/list');
    const more = await ask('tools/list', {}, { headers: { 'x-api-key': 'junk', 'x-mcp-auth': 'junk' } });
    assert.deepEqual(more.result?.tools, plain.result?.tools);
    assert.match(textOf(await call(ask, 'echo', { n: 1 }, { headers: { 'x-api-key': 'junk' } })), /"n":1/);
  });
});
