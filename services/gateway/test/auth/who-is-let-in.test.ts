// Tokens at the door, over the wire (auth-security.md RS-6, RS-9, RS-13…RS-20, T-23; GB-109, GB-110, GB-113, GB-116).
// Every bad token gets one and the same answer; why is in the audit row only.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { CompactSign, UnsecuredJWT } from 'jose';
import {
  modernParts,
  openSocket,
  type Rig,
  readReply,
  routeOf,
  send,
  sendModern,
  snapshotOf,
  startRig,
} from '../http/rig.ts';
import {
  ecKey,
  forged,
  ISSUER,
  issuerOf,
  type JwksFile,
  jwksFile,
  jwksOf,
  jwtAuth,
  RESOURCE,
  rsaKey,
  type TokenChange,
  tokenOf,
} from './issuer.ts';

const key = ecKey('k1');
const rsa = rsaKey('k2', 2048);
const weak = rsaKey('weak', 1024);
const stranger = ecKey('k1');
const CHALLENGE =
  'Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/acme/everything/mcp", scope="openid mcp"';
const INVALID = `${CHALLENGE}, error="invalid_token", error_description="The token is malformed, expired, or not meant for this resource"`;

let rig: Rig;
let file: JwksFile;
const auth = (change = {}) => jwtAuth(issuerOf({ file: file.path }, { scopes: ['openid', 'mcp'], ...change }));

before(async () => {
  file = jwksFile(await jwksOf(key, rsa, weak));
  rig = await startRig({ auth: auth() });
});
beforeEach(() => {
  rig.snapshot = snapshotOf({ auth: auth() });
  rig.audit.length = 0;
  rig.seen.length = 0;
});
after(async () => {
  await rig.close();
  file.remove();
});

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

test('a good token is a caller with tenant, subject, client and groups', async () => {
  const reply = await sendModern(rig.port, { headers: bearer(await tokenOf(key)) });
  assert.equal(reply.status, 200);
  const { caller } = rig.seen[0]?.exchange ?? assert.fail();
  assert.deepEqual(caller.principal, { tenant: 'acme', issuer: ISSUER, subject: 'alice', client: 'ide' });
  assert.deepEqual(caller.groups, ['dev']);
  assert.ok((caller.expiresAt ?? 0) > Date.now());
});

const GOOD: readonly [string, TokenChange, typeof key?][] = [
  ['an RSA key of 2048 bits', {}, rsa],
  ['the type JWT, and none', { header: { typ: 'JWT' } }],
  ['one of several audiences', { claims: { aud: ['account', RESOURCE] } }],
  ['expired within the tolerance', { claims: { exp: Math.floor(Date.now() / 1000) - 5 } }],
  ['no client at all', { without: ['client_id'] }],
  ['the payload type Bearer', { claims: { typ: 'Bearer' } }],
];
for (const [says, change, by] of GOOD) {
  test(`let in: ${says}`, async () => {
    assert.equal((await sendModern(rig.port, { headers: bearer(await tokenOf(by ?? key, change)) })).status, 200);
  });
}

const now = Math.floor(Date.now() / 1000);
const claims = { iss: ISSUER, sub: 'alice', aud: RESOURCE, tenant: 'acme', iat: now, exp: now + 600 };
const hmac = () => {
  const text = forged({ alg: 'HS256', kid: 'k1' }, claims, '').slice(0, -1);
  const secret = key.publicKey.export({ type: 'spki', format: 'pem' });
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
};
const cut = async (change: (token: string) => string) => change(await tokenOf(key));
const BAD: readonly [string, string, () => Promise<string> | string][] = [
  ['GB-109 audience account', 'audience', () => tokenOf(key, { claims: { aud: 'account' } })],
  ['GB-109 no audience', 'claim-aud', () => tokenOf(key, { without: ['aud'] })],
  [
    'GB-109 audience of another route',
    'audience',
    () => tokenOf(key, { claims: { aud: ['account', 'https://gw.example/b/mcp'] } }),
  ],
  ['GB-110 audience = client id', 'audience', () => tokenOf(key, { claims: { aud: 'ide' } })],
  ['RS-5 audience with a slash more', 'audience', () => tokenOf(key, { claims: { aud: `${RESOURCE}/` } })],
  ['audience in another case', 'audience', () => tokenOf(key, { claims: { aud: RESOURCE.toUpperCase() } })],
  ['expired', 'expired', () => tokenOf(key, { claims: { exp: now - 60 } })],
  ['no expiry', 'claim-exp', () => tokenOf(key, { without: ['exp'] })],
  ['no issue time', 'claim-iat', () => tokenOf(key, { without: ['iat'] })],
  ['issued in the future', 'issued-later', () => tokenOf(key, { claims: { iat: now + 3600, exp: now + 7200 } })],
  ['not valid yet', 'claim-nbf', () => tokenOf(key, { claims: { nbf: now + 3600 } })],
  ['another issuer', 'issuer', () => tokenOf(key, { claims: { iss: 'https://evil.example' } })],
  ['GB-107 the issuer with a slash', 'issuer', () => tokenOf(key, { claims: { iss: `${ISSUER}/` } })],
  ['no issuer', 'issuer', () => tokenOf(key, { without: ['iss'] })],
  ['GB-119 no subject', 'subject', () => tokenOf(key, { without: ['sub'] })],
  ['GB-119 an empty subject', 'subject', () => tokenOf(key, { claims: { sub: '' } })],
  ['a subject that is no text', 'subject', () => tokenOf(key, { claims: { sub: 5 as unknown as string } })],
  ['a tenant the issuer may not assert', 'tenant', () => tokenOf(key, { claims: { tenant: 'globex' } })],
  ['a tenant that is no text', 'tenant', () => tokenOf(key, { claims: { tenant: ['acme'] } })],
  ['an ID token by nonce', 'id-token', () => tokenOf(key, { claims: { nonce: 'n' } })],
  ['an ID token by at_hash', 'id-token', () => tokenOf(key, { claims: { at_hash: 'h' } })],
  ['a refresh token by its own word', 'token-type', () => tokenOf(key, { claims: { typ: 'Refresh' } })],
  ['another token type', 'token-type', () => tokenOf(key, { header: { typ: 'oauth-id-jag+jwt' } })],
  ['a bound token without its proof', 'sender-constrained', () => tokenOf(key, { claims: { cnf: { jkt: 'x' } } })],
  ['no kid', 'kid', () => tokenOf(key, { header: { kid: undefined } })],
  ['an unknown kid', 'kid', () => tokenOf(key, { header: { kid: 'other' } })],
  ['a kid that is a path', 'kid', () => tokenOf(key, { header: { kid: '../../etc/passwd' } })],
  ['a kid of 300 letters', 'kid', () => tokenOf(key, { header: { kid: 'k'.repeat(300) } })],
  ['a key of someone else under our kid', 'signature', () => tokenOf(stranger)],
  ['an RSA key of 1024 bits', 'kid', () => forged({ alg: 'RS256', kid: 'weak' }, claims)],
  ['a key of another kind than alg', 'kid', () => forged({ alg: 'RS256', kid: 'k1' }, claims)],
  ['alg none', 'parts', () => new UnsecuredJWT(claims).encode()],
  ['alg none with a signature', 'algorithm', () => forged({ alg: 'none', kid: 'k1' }, claims)],
  ['HS256 with the public key', 'algorithm', hmac],
  ['an algorithm that is not configured', 'algorithm', () => forged({ alg: 'PS256', kid: 'k2' }, claims)],
  ['jku', 'header', () => tokenOf(key, { header: { jku: 'https://evil.example/jwks' } })],
  ['jwk', 'header', async () => tokenOf(stranger, { header: { jwk: (await jwksOf(stranger)).keys[0] } })],
  ['x5u', 'header', () => tokenOf(key, { header: { x5u: 'https://evil.example/x' } })],
  ['crit', 'header', () => forged({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 }, claims)],
  ['b64', 'header', () => forged({ alg: 'ES256', kid: 'k1', b64: false }, claims)],
  [
    'a changed claim',
    'signature',
    () =>
      cut((t) =>
        t.replace(/\..*\./, `.${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}.`),
      ),
  ],
  ['a cut signature', 'signature', () => cut((t) => t.slice(0, -8))],
  ['two parts', 'parts', () => cut((t) => t.slice(0, t.lastIndexOf('.')))],
  ['five parts', 'parts', () => cut((t) => `${t}.a.b`)],
  ['padding', 'parts', () => cut((t) => `${t}==`)],
  ['more than 8 KiB', 'length', () => tokenOf(key, { claims: { pad: 'x'.repeat(8000) } })],
  ['no JSON inside', 'malformed', () => 'abc.def.ghi'],
  [
    'a payload that is an array',
    'malformed',
    () => new CompactSign(Buffer.from('[]')).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(key.privateKey),
  ],
];
for (const [says, why, make] of BAD) {
  test(`T-23 turned away: ${says}`, async () => {
    const token = await make();
    const reply = await sendModern(rig.port, { headers: bearer(token) });
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get('www-authenticate'), INVALID);
    const body = JSON.parse(reply.body) as { error: { data: object } };
    const { data, ...said } = body.error;
    assert.deepEqual(said, {
      code: 10012,
      message: 'The access token is not valid here. Get a new one as the WWW-Authenticate header tells.',
    });
    assert.deepEqual(Object.keys(data), ['lockkeeper/exchange']);
    assert.equal(rig.seen.length, 0);
    assert.deepEqual(
      rig.audit.map((r) => [r.outcome, r.detail, r.subject]),
      [['bad-token', why, null]],
    );
    assert.ok(!JSON.stringify([rig.audit, rig.logged]).includes(token.slice(0, 40)));
  });
}

for (const [verb, path] of [
  ['POST', '/acme/everything/mcp'],
  ['GET', '/acme/everything/mcp'],
  ['DELETE', '/acme/everything/mcp'],
  ['GET', '/acme/everything/sse'],
  ['POST', '/acme/everything/messages?sessionId=s'],
] as const) {
  test(`RS-9, GB-011, GB-113: ${verb} ${path} without a token is challenged, without an error, with the scope`, async () => {
    const ofItsUrl = /\/(sse|messages)\b/.test(path) ? CHALLENGE.replace('/mcp"', '/sse"') : CHALLENGE;
    const reply = await send(rig.port, `${verb} ${path}`, [], verb === 'POST' ? '{' : undefined);
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get('www-authenticate'), ofItsUrl);
    assert.equal(rig.legacy.length, 0);
  });
}

test('another scheme is no token', async () => {
  const reply = await sendModern(rig.port, { headers: { Authorization: 'Basic YTpi' } });
  assert.deepEqual([reply.status, reply.headers.get('www-authenticate')], [401, CHALLENGE]);
});

test('the scheme is not case-sensitive', async () => {
  assert.equal(
    (await sendModern(rig.port, { headers: { Authorization: `bEARER ${await tokenOf(key)}` } })).status,
    200,
  );
});

test('GB-116: two Authorization headers are refused, whichever is good', async () => {
  const token = await tokenOf(key);
  const { start, lines, body } = modernParts();
  for (const pair of [
    [`Bearer ${token}`, 'Bearer x'],
    ['Bearer x', `Bearer ${token}`],
    [`Bearer ${token}`, `Bearer ${token}`],
  ]) {
    const reply = await send(rig.port, start, [...lines, ...pair.map((v) => `Authorization: ${v}`)], body);
    assert.deepEqual([reply.status, reply.headers.get('www-authenticate')], [400, 'Bearer error="invalid_request"']);
  }
});

test('GB-116: another credential header changes nothing', async () => {
  const token = await tokenOf(key);
  const reply = await sendModern(rig.port, {
    headers: { ...bearer(token), 'X-Api-Key': 'junk', 'X-Mcp-Auth': 'junk' },
  });
  assert.equal(reply.status, 200);
});

test('RS-6: a token in the query is refused, even beside a good header', async () => {
  const token = await tokenOf(key);
  for (const headers of [{}, bearer(token)]) {
    const reply = await sendModern(rig.port, { path: `/acme/everything/mcp?x=1&access_token=${token}`, headers });
    assert.equal(reply.status, 400);
  }
});

test('RS-9: a stranger is turned away before the body is there, and it is not read', async () => {
  const socket = openSocket(rig.port);
  const { start, lines } = modernParts();
  socket.write(`${start} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('\r\n')}\r\nContent-Length: 60000000\r\n\r\n`);
  const reply = await readReply(socket);
  assert.deepEqual([reply.status, reply.headers.get('connection')], [401, 'close']);
});

test('a token of another tenant sees what a path without a route shows', async () => {
  const routes = [routeOf('/acme/everything/mcp'), routeOf('/globex/mcp', { tenant: 'globex' })];
  rig.snapshot = snapshotOf({ auth: auth({ tenants: ['acme', 'globex'], audience: 'api://lk' }), routes });
  const headers = bearer(await tokenOf(key, { claims: { aud: 'api://lk', tenant: 'acme' } }));
  assert.equal((await sendModern(rig.port, { headers })).status, 200);
  const foreign = await sendModern(rig.port, { headers, path: '/globex/mcp' });
  const nowhere = await sendModern(rig.port, { headers, path: '/nowhere/mcp' });
  assert.deepEqual([foreign.status, foreign.body], [nowhere.status, nowhere.body]);
  assert.equal(foreign.status, 404);
  assert.equal(foreign.headers.get('www-authenticate'), undefined);
  assert.equal(rig.audit.at(-1)?.outcome, 'foreign');
});

test('GB-104: a token of an issuer that may not speak for the tenant is 401', async () => {
  const other = issuerOf(
    { file: file.path },
    { issuer: 'https://b.example', tenants: ['globex'], audience: 'api://b' },
  );
  rig.snapshot = snapshotOf({ auth: jwtAuth(issuerOf({ file: file.path }), other) });
  const token = await tokenOf(key, { claims: { iss: 'https://b.example', aud: 'api://b', tenant: 'globex' } });
  assert.equal((await sendModern(rig.port, { headers: bearer(token) })).status, 401);
});

test('without a tenant claim the issuer must name exactly one', async () => {
  const headers = bearer(await tokenOf(key, { without: ['tenant'] }));
  assert.equal((await sendModern(rig.port, { headers })).status, 200);
  rig.snapshot = snapshotOf({ auth: auth({ tenants: ['acme', 'globex'] }) });
  assert.equal((await sendModern(rig.port, { headers })).status, 401);
});

test('GB-118: only named clients are let in where some are named', async () => {
  rig.snapshot = snapshotOf({ auth: auth({ clients: ['ide'] }) });
  const as = async (change: TokenChange) =>
    (await sendModern(rig.port, { headers: bearer(await tokenOf(key, change)) })).status;
  assert.equal(await as({}), 200);
  assert.equal(await as({ claims: { client_id: 'evil' } }), 401);
  assert.equal(await as({ without: ['client_id'], claims: { azp: 'ide' } }), 200);
  assert.equal(await as({ without: ['client_id'], claims: { azp: 'evil' } }), 401);
  assert.equal(await as({ without: ['client_id'] }), 401);
});

test('claims may be named by a path, or by a name with dots in it', async () => {
  rig.snapshot = snapshotOf({
    auth: auth({
      claims: { subject: 'https://x.example/uid', tenant: 'org.name', groups: 'realm_access.roles', client: 'azp' },
    }),
  });
  const change = {
    claims: {
      'https://x.example/uid': 'u7',
      org: { name: 'acme' },
      realm_access: { roles: ['ops', 5, 'dev'] },
      azp: 'cli',
    },
  };
  await sendModern(rig.port, { headers: bearer(await tokenOf(key, change)) });
  const { caller } = rig.seen[0]?.exchange ?? assert.fail();
  assert.deepEqual(caller.principal, { tenant: 'acme', issuer: ISSUER, subject: 'u7', client: 'cli' });
  assert.deepEqual(caller.groups, ['ops', 'dev']);
});

test('RS-17: a token is verified once and asked again of the route each time', async () => {
  const headers = bearer(await tokenOf(key, { claims: { aud: 'api://lk' } }));
  rig.snapshot = snapshotOf({
    auth: auth({ audience: 'api://lk' }),
    routes: [routeOf('/acme/everything/mcp'), routeOf('/acme/two/mcp')],
  });
  await sendModern(rig.port, { headers });
  await sendModern(rig.port, { headers });
  await sendModern(rig.port, { headers, path: '/acme/two/mcp' });
  const [first, second, third] = rig.seen.map((s) => s.exchange.caller);
  assert.equal(first, second);
  assert.deepEqual(first, third);
  const text = await rig.metrics.registry.metrics();
  const cached = Number(/lockkeeper_auth_tokens_total\{how="cached"\} (\d+)/.exec(text)?.[1]);
  assert.ok(cached >= 2);
});

test('RS-16: a remembered token does not vouch for another signature, and its spellings are one', async () => {
  const token = await tokenOf(key);
  assert.equal((await sendModern(rig.port, { headers: bearer(token) })).status, 200);
  const dot = token.lastIndexOf('.');
  const other = await tokenOf(stranger);
  const borrowed = `${token.slice(0, dot)}${other.slice(other.lastIndexOf('.'))}`;
  assert.equal((await sendModern(rig.port, { headers: bearer(borrowed) })).status, 401);
  assert.equal((await sendModern(rig.port, { headers: bearer(`${token.slice(0, dot)}.AAAA`) })).status, 401);
});

test('RS-6: keys that cannot be read are 503, never 401', async () => {
  rig.snapshot = snapshotOf({ auth: jwtAuth(issuerOf({ file: '/nowhere/jwks.json' })) });
  const reply = await sendModern(rig.port, { headers: bearer(await tokenOf(key)) });
  assert.equal(reply.status, 503);
  assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  assert.equal(reply.headers.get('www-authenticate'), undefined);
});

test('open mode: everybody is the one anonymous of the tenant, token or not', async () => {
  rig.snapshot = snapshotOf();
  await sendModern(rig.port, { headers: bearer('junk') });
  await sendModern(rig.port);
  assert.deepEqual(
    rig.seen.map((s) => s.exchange.caller.principal.subject),
    ['anonymous', 'anonymous'],
  );
});

const SSE = RESOURCE.replace(/mcp$/, 'sse');
for (const [what, audience, aud, status] of [
  ['the route’s own URL', undefined, RESOURCE, 200],
  ['the HTTP+SSE URL', undefined, SSE, 401],
  ['the audience that is configured', 'lockkeeper', 'lockkeeper', 200],
  ['the HTTP+SSE URL beside a configured one', 'lockkeeper', SSE, 401],
] as const) {
  test(`RS-5: on HTTP+SSE a token for ${what} is ${status}`, async () => {
    rig.snapshot = snapshotOf({ auth: auth(audience === undefined ? {} : { audience }) });
    const token = await tokenOf(key, { claims: { aud } });
    const reply = await send(rig.port, 'GET /acme/everything/sse', [`Authorization: Bearer ${token}`]);
    assert.equal(reply.status, status);
  });
}
