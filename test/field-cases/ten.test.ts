// Field cases of class TEN, and GB-056: does one person ever get what is another's, or another tenant's, or does a server
// ever get what is the gateway's?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { type Asker, asker, call, ERAS, modernAsker, seenBy, server, textOf } from './stage.ts';

const SHOWN = JSON.stringify({
  capabilities: { resources: {} },
  tools: ['x', 'y', 'seen'].map((name) => ({ name, inputSchema: { type: 'object', properties: {} } })),
  resources: [{ uri: 'me://inbox', name: 'inbox' }],
});

let lockkeeper: Lockkeeper;
let issuer: Issuer;
const at = (tenant: string, name: string) => lockkeeper.route(`/${tenant}/${name}/mcp`);
const tokenOf = (sub: string, tenant: string, name: string, groups = ['dev']) =>
  issuer.token({ sub, tenant, groups, audience: at(tenant, name) });
const as = (sub: string, tenant: string, name: string, groups?: string[]) =>
  modernAsker(at(tenant, name), tokenOf(sub, tenant, name, groups));

before(async () => {
  issuer = createIssuer();
  const names = ['count', 'shared', 'env', 'shown'];
  const all = names.map((name) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  const both = (name: string, file: string, wish = {}) =>
    ['acme', 'beta'].map((tenant) => server(name, file, { tenant, ...wish }));
  lockkeeper = await startStandalone({
    servers: [
      ...both('count', 'counter'),
      ...both('shared', 'counter', { isolation: 'shared', more: { pool: { max: 1 } } }),
      server('env', 'prints-env', { env: { STATED: 'yes' } }),
      server('shown', 'says-anything', { env: { LISTS: SHOWN } }),
    ],
    tenants: ['acme', 'beta'],
    auth: {
      mode: 'jwt',
      issuers: [
        { issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme', 'beta'], claims: { tenant: 'tenant' } },
      ],
    },
    policy: [
      { tenant: 'acme', groups: ['dev'], allow: all },
      { tenant: 'beta', groups: ['dev'], allow: all.slice(0, 2) },
      { tenant: 'acme', groups: ['guest'], allow: [{ server: 'shown', tools: ['x'], prompts: [], resources: ['*'] }] },
    ],
    routes: [
      ...names.map((name) => ({ path: `/acme/${name}/mcp`, tenant: 'acme', server: name })),
      ...['count', 'shared'].map((name) => ({ path: `/beta/${name}/mcp`, tenant: 'beta', server: name })),
    ],
    env: { A_SECRET_OF_OURS: 'the-environment-of-lockkeeper' },
  });
});
after(async () => {
  await lockkeeper?.stop();
  issuer?.close();
});

const counted = async (ask: Asker) => JSON.parse(textOf(await call(ask, 'count'))) as { pid: number; count: number };

describe('GB-117: state in a process', () => {
  it("is one person's, and survives a new token of the same person", async () => {
    const people = [
      ['alice', 'acme'],
      ['bob', 'acme'],
      ['alice', 'beta'],
    ] as const;
    for (let round = 1; round <= 3; round++) {
      for (const [sub, tenant] of people) assert.equal((await counted(as(sub, tenant, 'count'))).count, round);
    }
    const pids = await Promise.all(people.map(async ([sub, tenant]) => (await counted(as(sub, tenant, 'count'))).pid));
    assert.equal(new Set(pids).size, 3);
  });

  it("of a server that is declared shared is a tenant's, and never two tenants'", async () => {
    const [alice, bob, other] = [
      as('alice', 'acme', 'shared'),
      as('bob', 'acme', 'shared'),
      as('alice', 'beta', 'shared'),
    ];
    const first = await counted(alice);
    assert.deepEqual(await counted(bob), { pid: first.pid, count: first.count + 1 });
    const foreign = await counted(other);
    assert.notEqual(foreign.pid, first.pid);
    assert.equal(foreign.count, 1);
  });
});

describe('GB-121: what a client sends to the gateway', () => {
  const marks = ['tok-cookie', 'tok-proxy', 'tok-api-key', 'tok-user', 'tok-mcp', 'tok-query'];
  const headers = {
    cookie: 'sid=tok-cookie',
    'proxy-authorization': 'Bearer tok-proxy',
    'x-api-key': 'tok-api-key',
    'x-forwarded-user': 'tok-user',
    'x-mcp-auth': 'tok-mcp',
  };

  for (const era of ERAS) {
    it(`by ${era} headers is in nothing that a child sees: environment, arguments, messages`, async () => {
      const token = tokenOf('alice', 'acme', 'env');
      const env = textOf(await call(await asker(era, at('acme', 'env'), token), 'env', {}, { headers }));
      const seenToken = tokenOf('alice', 'acme', 'shown');
      const ask = await asker(era, at('acme', 'shown'), seenToken);
      await call(ask, 'x', {}, { headers, meta: { 'com.example/mine': 1 } });
      const seen = JSON.stringify(await seenBy(ask));
      assert.match(seen, /com\.example\/mine/);
      for (const text of [env, seen]) {
        for (const mark of [...marks, token, seenToken, 'Bearer', 'alice', issuer.issuer])
          assert.ok(!text.includes(mark), mark);
      }
      const { env: variables } = JSON.parse(env) as { env: Record<string, string> };
      assert.equal(variables.STATED, 'yes');
      assert.equal(variables.A_SECRET_OF_OURS, undefined);
      assert.deepEqual(
        Object.keys(variables).filter((name) => !/^(PATH|HOME|TMPDIR|LANG|TZ|STATED|LOCKKEEPER_CHILD)$/.test(name)),
        [],
      );
    });
  }

  it('is in no log either', () => {
    const logs = lockkeeper.process.logs();
    for (const mark of [...marks, 'eyJ']) assert.ok(!logs.includes(mark), mark);
  });
});

describe('GB-056, GB-120: lists and reads of different people', () => {
  for (const order of [
    ['alice', 'guest'],
    ['guest', 'alice'],
  ] as const) {
    it(`GB-120: are each their own, asked in the order ${order.join(', ')}, and a hidden name is an unknown one`, async () => {
      for (const who of order) {
        const ask = who === 'alice' ? as('alice', 'acme', 'shown') : as('gus', 'acme', 'shown', ['guest']);
        const { result } = await ask('tools/list');
        assert.deepEqual(
          (result!.tools as { name: string }[]).map(({ name }) => name),
          who === 'alice' ? ['x', 'y', 'seen'] : ['x'],
        );
        assert.equal(result!.cacheScope, 'private');
        if (who === 'alice') continue;
        const [hidden, missing] = [await call(ask, 'y'), await call(ask, 'nobody')];
        assert.deepEqual([hidden.error?.code, hidden.status], [missing.error?.code, missing.status]);
        assert.equal(
          hidden.error?.message.replace('y', '?'),
          missing.error?.message.replace('nobody', '?').replace('y', '?'),
        );
      }
    });
  }

  it("GB-056: a read of one person is not answered from another's, and both are private", async () => {
    const texts = [];
    for (const [sub, groups] of [
      ['alice', ['dev']],
      ['gus', ['guest']],
    ] as const) {
      const { result } = await as(sub, 'acme', 'shown', [...groups])('resources/read', { uri: 'me://inbox' });
      assert.equal(result?.cacheScope, 'private');
      texts.push((result.contents as { text: string }[])[0]!.text);
    }
    assert.notEqual(texts[0], texts[1]);
  });
});

describe('GB-119, GB-122: who a person is', () => {
  it('GB-122: many tokens of one person are one person, with one process', async () => {
    const pids = new Set<number>();
    for (let n = 0; n < 30; n++) {
      const token = issuer.token({
        sub: 'carol',
        tenant: 'acme',
        audience: at('acme', 'count'),
        claims: { jti: `t-${n}` },
      });
      pids.add((await counted(modernAsker(at('acme', 'count'), token))).pid);
    }
    assert.equal(pids.size, 1);
  });

  it('GB-119: without an e-mail they are told apart by issuer and subject, without a subject they are nobody', async () => {
    const machine = (sub: string) =>
      modernAsker(
        at('acme', 'count'),
        issuer.token({ sub, tenant: 'acme', audience: at('acme', 'count'), claims: { email: undefined } }),
      );
    assert.notEqual((await counted(machine('svc-1'))).pid, (await counted(machine('svc-2'))).pid);
    const nobody = issuer.token({ tenant: 'acme', audience: at('acme', 'count'), mistake: 'no-subject' });
    assert.equal((await modernAsker(at('acme', 'count'), nobody)('tools/list')).status, 401);
  });
});
