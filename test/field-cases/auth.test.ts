// Field cases of class AUTH as far as the resource server goes, and GB-053: is a client told where to sign in for the very
// URL it used, is every bad token 401, and does nothing but the token and the body decide?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { createIssuer, type Issuer, type TokenWish } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { legacyRequest, modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { asker, call, ERAS, legacyAsker, logOf, modernAsker, namesOf, server, textOf } from './stage.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

let lockkeeper: Lockkeeper;
let acme: Issuer;
let beta: Issuer;
let entra: Issuer;
const url = (path: string) => lockkeeper.route(path);

before(async () => {
  acme = createIssuer('https://idp.acme.example/realms/acme/');
  beta = createIssuer('https://idp.beta.example');
  entra = createIssuer('https://login.example/v2.0');
  lockkeeper = await startStandalone({
    servers: [
      server('told', 'says-anything', {
        env: {
          LISTS:
            '{"tools":[{"name":"allowed","inputSchema":{"type":"object"}},{"name":"forbidden","inputSchema":{"type":"object"}}]}',
        },
      }),
      server('told', 'echo-legacy', { tenant: 'beta' }),
    ],
    tenants: ['acme', 'beta'],
    auth: {
      mode: 'jwt',
      issuers: [
        {
          issuer: acme.issuer,
          jwksFile: acme.jwksFile,
          tenants: ['acme'],
          scopes: ['mcp:use'],
          clients: ['ide', 'test-client'],
        },
        { issuer: beta.issuer, jwksFile: beta.jwksFile, tenants: ['beta'] },
        {
          issuer: entra.issuer,
          jwksFile: entra.jwksFile,
          tenants: ['acme'],
          audience: 'api://0b1c',
          claims: { client: 'appid' },
        },
      ],
    },
    policy: [
      { tenant: 'acme', groups: ['dev'], allow: [{ server: 'told', tools: ['allowed'], prompts: [], resources: [] }] },
      { tenant: 'beta', groups: ['dev'], allow: [{ server: 'told', tools: ['*'], prompts: [], resources: [] }] },
    ],
    routes: [
      { path: '/t/acme/mcp', tenant: 'acme', server: 'told' },
      { path: '/t/acme/all/mcp', tenant: 'acme', servers: ['told'] },
      { path: '/t/beta/mcp', tenant: 'beta', server: 'told' },
    ],
  });
});
after(async () => {
  await lockkeeper?.stop();
  for (const issuer of [acme, beta, entra]) issuer?.close();
});

const ROUTES = ['/t/acme/mcp', '/t/acme/all/mcp', '/t/beta/mcp'];
const tokenFor = (path: string, wish: Partial<TokenWish> = {}, issuer = acme) =>
  issuer.token({ audience: url(path), ...wish });
const list = (path: string, token: string | undefined, headers: Record<string, string> = {}) =>
  modernAsker(url(path), token)('tools/list', {}, { headers });

async function fetched(path: string, request: { method?: string; headers?: Record<string, string> } = {}) {
  const response = await sendRaw(url(path), { method: 'GET', ...request });
  // An answer to HEAD has the length of a body and none.
  const text = request.method === 'HEAD' ? '' : await response.text();
  response.destroy();
  return { status: response.status, headers: response.headers, text };
}
const metadataOf = async (path: string, headers: Record<string, string> = {}) =>
  JSON.parse((await fetched(WELL_KNOWN + path, { headers })).text) as {
    resource: string;
    authorization_servers: string[];
    scopes_supported?: string[];
  };

describe('GB-101 to GB-105: metadata', () => {
  for (const path of ROUTES) {
    it(`GB-101: of ${path} is where its 401 says, with and without a slash, for HEAD and for pages of others`, async () => {
      const { headers } = await list(path, undefined);
      assert.ok((headers.get('www-authenticate') ?? '').includes(`resource_metadata="${url(WELL_KNOWN + path)}"`));
      for (const form of [WELL_KNOWN + path, `${WELL_KNOWN}${path}/`]) {
        const got = await fetched(form, { headers: { origin: 'https://page.example' } });
        assert.equal(got.status, 200);
        assert.match(got.headers.get('content-type') ?? '', /^application\/json/);
        assert.equal(got.headers.get('access-control-allow-origin'), '*');
        assert.equal((await fetched(form, { method: 'HEAD' })).status, 200);
        const preflight = { origin: 'https://page.example', 'access-control-request-method': 'GET' };
        const asked = await fetched(form, { method: 'OPTIONS', headers: preflight });
        assert.ok(asked.status === 204 || asked.status === 200, String(asked.status));
        assert.equal(asked.headers.get('access-control-allow-origin'), '*');
      }
    });

    it(`GB-102, GB-103: of ${path} describes that URL and its own issuer, whatever is said of hosts and by servers`, async () => {
      const spoofed = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-prefix': '/evil',
        forwarded: 'host=evil.example',
      };
      for (const headers of [{}, spoofed]) {
        const { resource, authorization_servers } = await metadataOf(path, headers);
        assert.equal(resource, url(path));
        assert.deepEqual(authorization_servers, [path.includes('beta') ? beta.issuer : acme.issuer]);
      }
    });
  }

  it('GB-101, GB-111: nothing is at the paths of what we are not, and that is JSON without a challenge', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/t/acme/mcp',
      '/.well-known/openid-configuration',
      `/t/acme/mcp${WELL_KNOWN}`,
      `${WELL_KNOWN}/t/nobody/mcp`,
      '/register',
    ]) {
      const { status, headers, text } = await fetched(path);
      assert.equal(status, 404, path);
      assert.equal(headers.get('www-authenticate'), undefined);
      assert.doesNotThrow(() => JSON.parse(text), path);
    }
  });

  it("GB-104: there is none at the root of many routes, and a token of another tenant's issuer is 401", async () => {
    assert.equal((await fetched(WELL_KNOWN)).status, 404);
    assert.equal((await list('/t/acme/mcp', tokenFor('/t/acme/mcp'))).status, 200);
    assert.equal((await list('/t/acme/mcp', tokenFor('/t/acme/mcp', {}, beta))).status, 401);
    assert.equal((await list('/t/beta/mcp', tokenFor('/t/beta/mcp', {}, acme))).status, 401);
  });

  it('GB-105: is never behind a token, nor is health', async () => {
    const tokens = [
      undefined,
      tokenFor('/t/acme/mcp', { mistake: 'expired' }),
      tokenFor('/t/beta/mcp', {}, beta),
      'junk',
    ];
    for (const token of tokens) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      for (const path of ROUTES) assert.equal((await fetched(WELL_KNOWN + path, { headers })).status, 200);
      for (const probe of ['/livez', '/readyz', '/startupz']) {
        const response = await sendRaw(`${lockkeeper.admin}${probe}`, { method: 'GET', headers });
        response.destroy();
        assert.equal(response.status, 200);
      }
    }
  });
});

describe('GB-106 to GB-110: tokens', () => {
  it('GB-106: the audience that the operator states is taken, on every route of the tenant', async () => {
    for (const path of ['/t/acme/mcp', '/t/acme/all/mcp']) {
      const token = entra.token({
        audience: 'api://0b1c',
        client: 'x',
        claims: { appid: 'ide', client_id: undefined },
      });
      assert.equal((await list(path, token)).status, 200);
      assert.equal((await list(path, tokenFor(path, {}, entra))).status, 401);
    }
  });

  it('GB-107: the issuer is the same string everywhere, to the last slash', async () => {
    const path = '/t/acme/mcp';
    const [named] = (await metadataOf(path)).authorization_servers;
    assert.equal(named, acme.issuer);
    assert.equal((await list(path, tokenFor(path, { claims: { iss: acme.issuer } }))).status, 200);
    assert.equal((await list(path, tokenFor(path, { claims: { iss: acme.issuer.slice(0, -1) } }))).status, 401);
    const other = tokenFor('/t/beta/mcp', { claims: { iss: `${beta.issuer}/` } }, beta);
    assert.equal((await list('/t/beta/mcp', other)).status, 401);
  });

  const path = '/t/acme/mcp';
  const now = Math.floor(Date.now() / 1000);
  const WRONG: readonly [string, () => string][] = [
    ['GB-109: aud "account"', () => tokenFor(path, { audience: 'account' })],
    ['GB-109: no aud', () => tokenFor(path, { mistake: 'no-audience' })],
    ['GB-109: aud of another route', () => acme.token({ audience: ['account', url('/t/acme/all/mcp')] })],
    ['GB-109: expired', () => tokenFor(path, { mistake: 'expired' })],
    ['GB-109: nbf in the future', () => tokenFor(path, { claims: { nbf: now + 3600 } })],
    ['GB-109: another iss', () => tokenFor(path, { mistake: 'wrong-issuer' })],
    ['GB-109: alg none', () => tokenFor(path, { mistake: 'alg-none' })],
    ['GB-109: HS256 with the public key', () => tokenFor(path, { mistake: 'hs256' })],
    ['GB-109: an unknown kid', () => tokenFor(path, { mistake: 'unknown-kid' })],
    ["GB-109: another client's azp", () => tokenFor(path, { claims: { client_id: undefined, azp: 'stranger' } })],
    ['GB-109: an ID token', () => tokenFor(path, { claims: { nonce: 'n', at_hash: 'h' } })],
    ['GB-110: aud that is the client', () => tokenFor(path, { audience: 'test-client' })],
    ['GB-119: no sub', () => tokenFor(path, { mistake: 'no-subject' })],
  ];
  for (const [what, make] of WRONG) {
    it(`${what} is 401 with invalid_token for both eras, never 403`, async () => {
      const token = make();
      const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
      for (const request of [modernRequest({ method: 'tools/list', token }), legacyRequest({ message, token })]) {
        const response = await sendRaw(url(path), request);
        response.destroy();
        assert.equal(response.status, 401);
        assert.match(response.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
      }
    });
  }

  it('GB-109: a new key is found once a token names it', async () => {
    assert.equal((await list('/t/beta/mcp', tokenFor('/t/beta/mcp', {}, beta))).status, 200);
    const old = tokenFor('/t/beta/mcp', { ttlSeconds: 301 }, beta);
    beta.rotate();
    await eventually(
      async () => assert.equal((await list('/t/beta/mcp', tokenFor('/t/beta/mcp', {}, beta))).status, 200),
      { deadlineMs: 15_000 },
    );
    assert.equal((await list('/t/beta/mcp', old)).status, 401);
  });

  it('GB-113: a challenge names the metadata and the scopes to ask for, the same each time and never offline_access', async () => {
    const { scopes_supported } = await metadataOf(path);
    assert.deepEqual(scopes_supported, ['mcp:use']);
    const challenges = new Set<string>();
    for (const token of [undefined, tokenFor(path, { mistake: 'expired' })]) {
      for (let n = 0; n < 2; n++)
        challenges.add(
          /^Bearer (resource_metadata="[^"]+", scope="mcp:use")/.exec(
            (await list(path, token)).headers.get('www-authenticate') ?? '',
          )?.[1] ?? 'none',
        );
    }
    assert.deepEqual([...challenges], [`resource_metadata="${url(WELL_KNOWN + path)}", scope="mcp:use"`]);
  });
});

describe('GB-116: more credentials than one', () => {
  const path = '/t/acme/mcp';

  it('in other headers change nothing', async () => {
    const token = tokenFor(path);
    const plain = namesOf(await list(path, token));
    assert.deepEqual(plain, ['allowed']);
    const more = {
      'x-api-key': 'junk',
      'x-mcp-auth': 'junk',
      cookie: 'session=junk',
      'proxy-authorization': 'Bearer junk',
    };
    assert.deepEqual(namesOf(await list(path, token, more)), plain);
    assert.equal((await call(modernAsker(url(path), token), 'allowed', {}, { headers: more })).status, 200);
  });

  it('in a second Authorization header are refused, whichever is good', async () => {
    const good = `Bearer ${tokenFor(path)}`;
    const { headers, body } = modernRequest({ method: 'tools/list' });
    for (const pair of [
      [good, 'Bearer junk'],
      ['Bearer junk', good],
    ]) {
      const lines = [
        ...Object.entries(headers as Record<string, string>),
        ...pair.map((value) => ['authorization', value] as const),
      ];
      const response = await sendRaw(url(path), { headers: lines, body: body! });
      response.destroy();
      assert.ok([400, 401].includes(response.status), String(response.status));
    }
  });
});

describe('GB-053: headers that a legacy request carries of its own accord', () => {
  const path = '/t/acme/mcp';
  const lies = { 'mcp-method': 'tools/list', 'mcp-name': 'allowed' };

  it('select no policy: the body is what is judged and recorded', async () => {
    const token = tokenFor(path);
    const ask = await legacyAsker(url(path), { token });
    for (const headers of [lies, { ...lies, 'mcp-protocol-version': undefined }]) {
      const { error } = await call(ask, 'forbidden', {}, { headers });
      assert.equal(error?.code, -32602);
      assert.match(error.message, /Unknown tool: forbidden/);
    }
    assert.equal(
      textOf(await call(ask, 'allowed', {}, { headers: { ...lies, 'mcp-name': 'forbidden' } })),
      '{"name":"allowed","arguments":{}}',
    );
    const recorded = () =>
      logOf(lockkeeper)
        .filter(({ kind, era, name }) => kind === 'audit' && era === 'legacy' && name === 'forbidden')
        .map(({ method, outcome }) => [method, outcome]);
    const refused = ['tools/call', 'unknown-name'];
    // The lines of a log come when they come.
    await eventually(() => assert.deepEqual(recorded(), [refused, refused]));
  });

  it('nor without a session', async () => {
    const token = tokenFor(path);
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'forbidden', arguments: {} } };
    const response = await sendRaw(url(path), legacyRequest({ message, token, headers: lies }));
    const { error } = (await response.json()) as { error: { code: number } };
    response.destroy();
    assert.equal(error.code, -32602);
  });

  it('and the same of a modern one', async () => {
    for (const era of ERAS) {
      const { error } = await call(await asker(era, url(path), tokenFor(path)), 'forbidden');
      assert.equal(error?.code, -32602);
    }
  });
});
