// Three gateways, two pool managers, one Redis: is it all the same which gateway a client meets? Sessions, cursors and
// processes must not care; only failures come in a later suite.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callLegacy, callModern, legacyRequest, openLegacySession } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PATH = '/acme/whoami/mcp';

let redis: StartedRedis;
let issuer: Issuer;
let cluster: Cluster;
let audience: string;

before(async () => {
  redis = await startRedis();
  issuer = createIssuer();
  cluster = await startCluster({
    gateways: 3,
    poolManagers: 2,
    redis: redis.url,
    servers: [
      { name: 'whoami', args: [at('./servers/whoami.ts')], isolation: 'user' },
      { name: 'dual', args: [at('../conformance/fixtures/dual.ts')] },
    ],
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: ['whoami', 'dual'].map((server) => ({ server, tools: ['*'], prompts: ['*'], resources: ['*'] })),
      },
    ],
    limits: { pageSize: 5 },
  });
  audience = cluster.gateways[0]!.route(PATH);
});

after(async () => {
  await cluster?.stop();
  issuer?.close();
  await redis?.stop();
});

const tokenOf = (sub: string, resource = audience) => issuer.token({ sub, audience: resource });

async function pidSeenBy(gateway: number, sub: string): Promise<string> {
  const { status, message } = await callModern(cluster.gateways[gateway]!.route(PATH), {
    method: 'tools/call',
    params: { name: 'whoami', arguments: {} },
    token: tokenOf(sub),
  });
  assert.equal(status, 200, JSON.stringify(message));
  return (message!.result as { content: { text: string }[] }).content[0]!.text;
}

describe('a cluster', () => {
  it('gives one person one process, whichever gateway asks, and another person another', async () => {
    const alice = await Promise.all([0, 1, 2, 0, 1, 2].map((gateway) => pidSeenBy(gateway, 'alice')));
    assert.equal(new Set(alice).size, 1, alice.join(' '));
    const bob = await Promise.all([2, 1, 0].map((gateway) => pidSeenBy(gateway, 'bob')));
    assert.equal(new Set(bob).size, 1, bob.join(' '));
    assert.notEqual(alice[0], bob[0]);
  });

  it('spreads people over the pool managers', async () => {
    const people = Array.from({ length: 12 }, (_, index) => `person-${index}`);
    const seen = await Promise.all(people.map((sub, index) => pidSeenBy(index % 3, sub)));
    const parents = new Set(seen.map((text) => text.split(' ')[1]));
    assert.equal(new Set(seen.map((text) => text.split(' ')[0])).size, people.length);
    assert.equal(parents.size, 2, [...parents].join(' '));
  });

  it('keeps a legacy session valid on every gateway, and for its owner only', async () => {
    const token = tokenOf('alice');
    const { session, result } = await openLegacySession(cluster.gateways[0]!.route(PATH), { token });
    assert.equal(result?.protocolVersion, '2025-11-25');
    assert.ok(session);
    const list = (gateway: number, bearer: string) =>
      callLegacy(cluster.gateways[gateway]!.route(PATH), {
        session,
        token: bearer,
        revision: '2025-11-25',
        message: { jsonrpc: '2.0', id: 9, method: 'tools/list' },
      });
    for (const gateway of [0, 1, 2]) {
      const { status, message } = await list(gateway, token);
      assert.equal(status, 200, JSON.stringify(message));
    }
    assert.equal((await list(1, tokenOf('mallory'))).status, 404);
    const end = await sendRaw(cluster.gateways[2]!.route(PATH), {
      ...legacyRequest({ session, token, revision: '2025-11-25', message: {} }),
      method: 'DELETE',
    });
    end.destroy();
    assert.ok(end.status >= 200 && end.status < 300, String(end.status));
    assert.equal((await list(1, token)).status, 404);
  });

  it('turns a page on another gateway', async () => {
    const path = '/acme/dual/mcp';
    const token = tokenOf('alice', cluster.gateways[0]!.route(path));
    const names: string[] = [];
    let cursor: string | undefined;
    let gateway = 0;
    do {
      const { status, message } = await callModern(cluster.gateways[gateway % 3]!.route(path), {
        method: 'tools/list',
        params: cursor === undefined ? {} : { cursor },
        token,
      });
      assert.equal(status, 200, JSON.stringify(message));
      const page = message?.result as { tools: { name: string }[]; nextCursor?: string };
      names.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
      gateway += 1;
    } while (cursor !== undefined && gateway < 50);
    assert.ok(gateway > 1, 'one page holds them all');
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.includes('test_simple_text') && names.includes('test_missing_capability'));
  });
});
