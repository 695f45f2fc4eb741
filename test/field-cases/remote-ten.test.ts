// Field cases of class TEN with remote servers: whose session is it, and whose credentials are on it?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectV2 } from '../harness/client-modern.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { type RawUpstream, startRawUpstream } from '../servers/http/raw-upstream.ts';
import { call, modernAsker, textOf } from './stage.ts';

const TENANTS = ['acme', 'beta'] as const;
type Tenant = (typeof TENANTS)[number];
const NAMES = ['own', 'shared', 'named', 'bare'] as const;
type Name = (typeof NAMES)[number];

let issuer: Issuer;
let up: RawUpstream;
let lockkeeper: Lockkeeper;

const at = (tenant: Tenant, name: Name) => lockkeeper.route(`/${tenant}/${name}/mcp`);
const tokenOf = (sub: string, tenant: Tenant, name: Name) =>
  issuer.token({ sub, tenant, groups: ['dev'], audience: at(tenant, name) });

/** Calls as this person and gives the request that came to the server. */
async function called(sub: string, tenant: Tenant, name: Name) {
  const n = up.seen.length;
  assert.match(textOf(await call(modernAsker(at(tenant, name), tokenOf(sub, tenant, name)), 'echo', { n })), /"n":\d/);
  return up.of('tools/call').at(-1)!;
}
const session = async (sub: string, tenant: Tenant, name: Name) =>
  (await called(sub, tenant, name)).headers['mcp-session-id']!;

before(async () => {
  issuer = createIssuer();
  up = await startRawUpstream({ kind: 'legacy', capabilities: { tools: {}, logging: {} } });
  const server = (tenant: Tenant, name: Name) => ({
    ...{ name, tenant, isolation: name === 'shared' ? ('shared' as const) : ('user' as const) },
    http: { url: up.url, ...(name === 'named' && { credential: 'crm' }) },
    ...(name === 'shared' && { more: { pool: { max: 1 } } }),
  });
  const allow = NAMES.map((name) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  const claims = { tenant: 'tenant' };
  lockkeeper = await startStandalone({
    servers: TENANTS.flatMap((tenant) => NAMES.map((name) => server(tenant, name))),
    auth: {
      mode: 'jwt',
      issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: [...TENANTS], claims }],
    },
    policy: TENANTS.map((tenant) => ({ tenant, groups: ['dev'], allow })),
    routes: TENANTS.flatMap((tenant) =>
      NAMES.map((name) => ({ path: `/${tenant}/${name}/mcp`, tenant, server: name })),
    ),
    env: { ACME_KEY: 'key-of-acme', BETA_KEY: 'key-of-beta' },
    more: {
      tenants: TENANTS.map((name) => ({
        name,
        credentials: { crm: { 'x-api-key': `\${env:${name.toUpperCase()}_KEY}` }, spare: { 'x-spare': 'spare-key' } },
      })),
    },
  });
});
after(async () => {
  await lockkeeper?.stop();
  await up?.close();
  issuer?.close();
});

describe('GB-117: sessions at a server', () => {
  it('are one a person and tenant, kept over calls and over new tokens of the same person', async () => {
    const people = [
      ['alice', 'acme'],
      ['bob', 'acme'],
      ['alice', 'beta'],
    ] as const;
    const first = await Promise.all(people.map(async ([sub, tenant]) => session(sub, tenant, 'own')));
    // Said together: which of them was the last is nobody's to know.
    const again: string[] = [];
    for (const [sub, tenant] of people) again.push(await session(sub, tenant, 'own'));
    assert.equal(new Set(again).size, 3);
    assert.ok(first.every((id) => again.includes(id)));
    const third: string[] = [];
    for (const [sub, tenant] of people) third.push(await session(sub, tenant, 'own'));
    assert.deepEqual(third, again);
  });

  it('are one a tenant where the server is declared shared', async () => {
    const alice = await session('alice', 'acme', 'shared');
    assert.equal(await session('bob', 'acme', 'shared'), alice);
    assert.notEqual(await session('alice', 'beta', 'shared'), alice);
  });

  it('are others for a client that may be asked: what is declared there was said at its beginning', async () => {
    const plain = await session('carol', 'acme', 'own');
    const client = await connectV2(at('acme', 'own'), 'pinned', {
      token: tokenOf('carol', 'acme', 'own'),
      capabilities: { elicitation: { form: {} } },
    });
    await client.callTool({ name: 'echo', arguments: {} });
    await client.close();
    const asked = up.of('tools/call').at(-1)!.headers['mcp-session-id'];
    assert.notEqual(asked, plain);
    const [, declared] = up
      .of('initialize')
      .slice(-2)
      .map(({ message }) => message!.params!.capabilities);
    assert.deepEqual(declared, { elicitation: { form: {} } });
    assert.equal(await session('carol', 'acme', 'own'), plain);
  });

  it('never get the id of a client’s own session', async () => {
    for (const { headers } of up.seen) {
      const id = headers['mcp-session-id'];
      assert.ok(id === undefined || up.sessions.has(id), id);
    }
  });
});

describe('a credential of a tenant', () => {
  it('is on every request to the servers that name it, each tenant’s own', async () => {
    for (const tenant of TENANTS) {
      const { headers } = await called('alice', tenant, 'named');
      assert.equal(headers['x-api-key'], `key-of-${tenant}`);
    }
    const sessions = new Map<string, Set<string>>();
    for (const { headers } of up.seen) {
      const key = headers['x-api-key'];
      if (key === undefined || headers['mcp-session-id'] === undefined) continue;
      sessions.set(key, (sessions.get(key) ?? new Set()).add(headers['mcp-session-id']));
    }
    const [acme, beta] = [sessions.get('key-of-acme')!, sessions.get('key-of-beta')!];
    assert.deepEqual(
      [...acme].filter((id) => beta.has(id)),
      [],
    );
  });

  it('is on no request to a server that does not, though it lies at the same address', async () => {
    const { headers } = await called('alice', 'acme', 'bare');
    assert.equal(headers['x-api-key'], undefined);
    for (const one of up.seen) assert.equal(one.headers['x-spare'], undefined);
  });

  it('is in no log', () => {
    const logs = lockkeeper.process.logs();
    for (const secret of ['key-of-acme', 'key-of-beta', 'spare-key']) assert.ok(!logs.includes(secret), secret);
  });
});
