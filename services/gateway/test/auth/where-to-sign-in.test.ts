// Protected resource metadata (auth-security.md RS-1…RS-5; GB-101…GB-105).

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, test } from 'node:test';
import { metadataUrlOf, resourceOf } from '../../src/auth/metadata.ts';
import { type Rig, routeOf, send, snapshotOf, startRig } from '../http/rig.ts';
import { issuerOf, jwtAuth } from './issuer.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const a = issuerOf({ file: '/a' }, { issuer: 'https://a.example/', tenants: ['acme'], scopes: ['mcp'] });
const b = issuerOf({ file: '/b' }, { issuer: 'https://b.example', tenants: ['globex'] });
const routes = [routeOf('/t/acme/mcp'), routeOf('/t/globex/mcp', { tenant: 'globex' })];

let rig: Rig;
before(async () => {
  rig = await startRig({ auth: jwtAuth(a, b), routes });
});
beforeEach(() => {
  rig.snapshot = snapshotOf({ auth: jwtAuth(a, b), routes });
});
after(() => rig.close());

const read = async (path: string, lines: string[] = [], verb = 'GET') => send(rig.port, `${verb} ${path}`, lines);

test('GB-101, GB-102: each route has its document at the path-inserted place, for everybody', async () => {
  for (const slash of ['', '/']) {
    const reply = await read(`${WELL_KNOWN}/t/acme/mcp${slash}`, ['Origin: https://anywhere.example']);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=300');
    assert.equal(reply.headers.get('access-control-allow-origin'), '*');
    assert.deepEqual(JSON.parse(reply.body), {
      resource: 'https://gw.example/t/acme/mcp',
      authorization_servers: ['https://a.example/'],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
      resource_name: 'Lockkeeper /t/acme/mcp',
    });
  }
});

test('GB-101: HEAD and preflight work too', async () => {
  const head = await read(`${WELL_KNOWN}/t/acme/mcp`, [], 'HEAD');
  assert.deepEqual([head.status, head.body], [200, '']);
  const preflight = await read(
    `${WELL_KNOWN}/t/acme/mcp`,
    ['Origin: https://x.example', 'Access-Control-Request-Method: GET'],
    'OPTIONS',
  );
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*']);
});

test('GB-104: each route names the issuer of its own tenant, and the root names none of two', async () => {
  const other = JSON.parse((await read(`${WELL_KNOWN}/t/globex/mcp`)).body) as {
    authorization_servers: string[];
    scopes_supported?: unknown;
  };
  assert.deepEqual(other.authorization_servers, ['https://b.example']);
  assert.equal(other.scopes_supported, undefined);
  assert.equal((await read(WELL_KNOWN)).status, 404);
  rig.snapshot = snapshotOf({ auth: jwtAuth(a), routes: [routeOf('/mcp')] });
  assert.equal((JSON.parse((await read(WELL_KNOWN)).body) as { resource: string }).resource, 'https://gw.example/mcp');
});

test('GB-105: no token, an old one or a wrong one, it is never 401', async () => {
  for (const lines of [[], ['Authorization: Bearer x.y.z'], ['Authorization: Basic a', 'Authorization: Bearer b']]) {
    assert.equal((await read(`${WELL_KNOWN}/t/acme/mcp`, lines)).status, 200);
  }
});

test('RS-1, GB-102: what a proxy or a client says of the host changes nothing', async () => {
  const plain = await read(`${WELL_KNOWN}/t/acme/mcp`);
  const spoofed = await read(`${WELL_KNOWN}/t/acme/mcp`, [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: http',
    'X-Forwarded-Prefix: /x',
    'Forwarded: host=evil',
  ]);
  assert.equal(spoofed.body, plain.body);
});

test('RS-4: an unknown route has no document, in the words of any unknown path', async () => {
  const unknown = await read(`${WELL_KNOWN}/t/none/mcp`);
  const nowhere = await read('/nowhere');
  assert.deepEqual([unknown.status, unknown.body], [404, nowhere.body]);
});

test('open mode has nothing to sign in to', async () => {
  rig.snapshot = snapshotOf({ routes });
  assert.equal((await read(`${WELL_KNOWN}/t/acme/mcp`)).status, 404);
});

describe('the HTTP+SSE URL of a route', () => {
  it('GB-102: has a document of its own, whose resource is that URL', async () => {
    for (const slash of ['', '/']) {
      const reply = await read(`${WELL_KNOWN}/t/acme/sse${slash}`);
      assert.equal(reply.status, 200);
      assert.deepEqual(JSON.parse(reply.body), {
        resource: 'https://gw.example/t/acme/sse',
        authorization_servers: ['https://a.example/'],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'Lockkeeper /t/acme/sse',
      });
    }
  });

  it('GB-101: it and its messages name that document in their 401, and the MCP path its own', async () => {
    for (const [start, document] of [
      ['GET /t/acme/sse', '/t/acme/sse'],
      ['POST /t/acme/messages?sessionId=s', '/t/acme/sse'],
      ['GET /t/acme/mcp', '/t/acme/mcp'],
    ] as const) {
      const reply = await send(rig.port, start, []);
      assert.equal(reply.status, 401);
      const named = `Bearer resource_metadata="https://gw.example${WELL_KNOWN}${document}", scope="mcp"`;
      assert.equal(reply.headers.get('www-authenticate'), named);
    }
  });

  it('has none where the route does not serve it', async () => {
    rig.snapshot = snapshotOf({ auth: jwtAuth(a), routes: [routeOf('/t/acme/mcp', { sse: false })] });
    assert.equal((await read(`${WELL_KNOWN}/t/acme/sse`)).status, 404);
    assert.equal((await read(`${WELL_KNOWN}/t/acme/mcp`)).status, 200);
  });
});

const CANONICAL: readonly [string, string, string][] = [
  ['https://GW.Example/', 'https://gw.example/a/mcp', 'https://gw.example/.well-known/oauth-protected-resource/a/mcp'],
  [
    'https://gw.example:443',
    'https://gw.example/a/mcp',
    'https://gw.example/.well-known/oauth-protected-resource/a/mcp',
  ],
  [
    'http://127.0.0.1:8080',
    'http://127.0.0.1:8080/a/mcp',
    'http://127.0.0.1:8080/.well-known/oauth-protected-resource/a/mcp',
  ],
  [
    'https://gw.example/base/',
    'https://gw.example/base/a/mcp',
    'https://gw.example/.well-known/oauth-protected-resource/base/a/mcp',
  ],
];
for (const [base, resource, metadata] of CANONICAL) {
  test(`RS-1: under ${base} the route /a/mcp is ${resource}`, () => {
    assert.equal(resourceOf(base, '/a/mcp'), resource);
    assert.equal(metadataUrlOf(base, '/a/mcp'), metadata);
  });
}
