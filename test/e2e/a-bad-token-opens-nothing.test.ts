// Does every mistake in a token get the same 401 with the way to a better one (RS-1…RS-20), on every verb and era, and does
// policy then decide alike on lists and calls?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createIssuer, type Issuer, type Mistake } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern, legacyRequest, modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';

const DUAL = fileURLToPath(new URL('../conformance/fixtures/dual.ts', import.meta.url));
const MISTAKES: readonly Mistake[] = [
  'expired',
  'not-yet',
  'no-expiry',
  'wrong-audience',
  'no-audience',
  'wrong-issuer',
  'alg-none',
  'hs256',
  'unknown-kid',
  'foreign-key',
  'embedded-jwk',
  'cut-signature',
  'changed-payload',
  'no-subject',
];

let issuer: Issuer;
let lockkeeper: Lockkeeper;
let url: string;

before(async () => {
  issuer = createIssuer();
  lockkeeper = await startStandalone({
    servers: [{ name: 'dual', args: [DUAL] }],
    tenants: ['acme', 'rival'],
    auth: {
      mode: 'jwt',
      issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'], claims: { tenant: 'tenant' } }],
    },
    policy: [
      { tenant: 'acme', groups: ['dev'], allow: [{ server: 'dual', tools: ['*'], prompts: ['*'], resources: ['*'] }] },
      {
        tenant: 'acme',
        groups: ['guest'],
        allow: [{ server: 'dual', tools: ['test_simple_*'], prompts: [], resources: [] }],
      },
    ],
  });
  url = lockkeeper.route('/acme/dual/mcp');
});
after(async () => {
  await lockkeeper?.stop();
  issuer?.close();
});

const call = (token: string | undefined, name = 'test_simple_text') =>
  callModern(url, {
    method: 'tools/call',
    params: { name, arguments: {} },
    ...(token !== undefined && { token }),
  });

describe('tokens', () => {
  it('lets a good one in', async () => {
    const { status, message } = await call(issuer.token({ tenant: 'acme', audience: url }));
    assert.equal(status, 200, JSON.stringify(message));
  });

  for (const mistake of MISTAKES) {
    it(`answers 401 to a token with ${mistake}`, async () => {
      const { status, headers, message } = await call(issuer.token({ tenant: 'acme', audience: url, mistake }));
      assert.equal(status, 401, JSON.stringify(message));
      const challenge = headers.get('www-authenticate') ?? '';
      assert.match(challenge, /^Bearer /);
      assert.match(challenge, /resource_metadata="[^"]+"/);
      assert.match(challenge, /error="invalid_token"/);
    });
  }

  it('answers 401 without a token, before it looks at the body, on every verb', async () => {
    for (const request of [
      { ...modernRequest({ method: 'tools/list' }), body: '{not json' },
      { method: 'GET', headers: { accept: 'text/event-stream', 'mcp-session-id': 'any' } },
      { method: 'DELETE', headers: { 'mcp-session-id': 'any' } },
      legacyRequest({ message: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } }),
    ]) {
      const response = await sendRaw(url, request);
      response.destroy();
      assert.equal(response.status, 401);
      assert.match(response.headers.get('www-authenticate') ?? '', /resource_metadata=/);
    }
  });

  it('takes no token from the query', async () => {
    const token = issuer.token({ tenant: 'acme', audience: url });
    const response = await sendRaw(`${url}?access_token=${token}`, modernRequest({ method: 'tools/list' }));
    response.destroy();
    assert.ok([400, 401].includes(response.status), String(response.status));
  });

  it('points to a metadata document that names this route as its resource', async () => {
    const { headers } = await call(undefined);
    const pointer = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')![1]!;
    const response = await sendRaw(pointer, { method: 'GET' });
    const document = (await response.json()) as { resource: string; authorization_servers: string[] };
    response.destroy();
    assert.equal(response.status, 200);
    assert.equal(document.resource, url);
    assert.deepEqual(document.authorization_servers, ['https://idp.example']);
  });

  it('refuses a tenant that the issuer may not assert', async () => {
    const { status } = await call(issuer.token({ audience: url, tenant: 'rival' }));
    assert.ok(status === 401 || status === 403, String(status));
  });
});

describe('policy', () => {
  const names = (message: Record<string, unknown> | null) =>
    (message!.result as { tools: { name: string }[] }).tools.map(({ name }) => name);

  it('shows a guest what a guest may call, and no more', async () => {
    const token = issuer.token({ tenant: 'acme', audience: url, groups: ['guest'] });
    const { message } = await callModern(url, { method: 'tools/list', token });
    assert.deepEqual(names(message), ['test_simple_text']);
    assert.equal((await call(token)).status, 200);
  });

  it('tells a guest the same of a forbidden tool as of one that does not exist', async () => {
    const token = issuer.token({ tenant: 'acme', audience: url, groups: ['guest'] });
    const forbidden = (await call(token, 'test_image_content')).message?.error as { code: number; message: string };
    const missing = (await call(token, 'test_nobody_knows')).message?.error as { code: number; message: string };
    assert.equal(forbidden.code, missing.code);
    assert.equal(
      forbidden.message.replaceAll('test_image_content', 'X'),
      missing.message.replaceAll('test_nobody_knows', 'X'),
    );
  });

  it('allows a stranger nothing', async () => {
    const token = issuer.token({ tenant: 'acme', audience: url, groups: ['nobody'] });
    const { message } = await callModern(url, { method: 'tools/list', token });
    const shown = message?.result ? names(message) : [];
    assert.deepEqual(shown, []);
    assert.ok((await call(token)).message?.error);
  });
});
