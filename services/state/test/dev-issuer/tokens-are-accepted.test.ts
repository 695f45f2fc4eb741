// Does the development issuer print tokens that its configuration accepts, and keep its key to itself?

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Folder, makeFolder, openConfig, SAMPLE } from '../config/sample.ts';

const CLI = fileURLToPath(new URL('../../src/cli/token.ts', import.meta.url));
let folder: Folder;
const folders: Folder[] = [];
beforeEach(() => {
  folder = makeFolder({ 'lockkeeper.yaml': SAMPLE });
  folders.push(folder);
});
after(() => {
  for (const one of folders) one.remove();
});

function run(...args: string[]) {
  const { LOCKKEEPER_CONFIG: _, ...env } = process.env;
  const all = [CLI, '--config', 'lockkeeper.yaml', '--dir', 'dev', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd: folder.path, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

const ALICE = ['--sub', 'alice', '--groups', 'dev,ops', '--route', '/acme/mcp'];

function decoded(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  return { header: JSON.parse(header!), claims: JSON.parse(claims!) };
}

function signedBy(token: string, jwksFile: string): boolean {
  const [header, claims, signature] = token.trim().split('.');
  const { keys } = JSON.parse(readFileSync(folder.file(jwksFile), 'utf8'));
  const key = createPublicKey({ key: keys[0], format: 'jwk' });
  const text = Buffer.from(`${header}.${claims}`);
  return verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature!, 'base64url'));
}

test('the sample gets its key file and a token made out as it wants it', () => {
  const before = Math.floor(Date.now() / 1000);
  const { status, stdout, stderr } = run(...ALICE);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.match(stderr, /made a development key; its public half is dev\/jwks\.json/);
  assert.match(stderr, /wrote the public key to jwks\.json/);
  assert.ok(signedBy(stdout, 'jwks.json'));
  const { header, claims } = decoded(stdout);
  const { keys } = JSON.parse(readFileSync(folder.file('jwks.json'), 'utf8'));
  assert.deepEqual(header, { alg: 'ES256', typ: 'at+jwt', kid: keys[0].kid });
  assert.equal(keys[0].d, undefined);
  const { iat, exp, jti, ...rest } = claims as { iat: number; exp: number; jti: string };
  assert.ok(iat >= before && exp - iat === 3600 && jti.length > 20);
  assert.deepEqual(rest, {
    iss: 'https://idp.example',
    aud: 'http://127.0.0.1:8080/acme/mcp',
    sub: 'alice',
    groups: ['dev', 'ops'],
    client_id: 'cli',
    tenant: 'acme',
  });
});

test('the key is made once and only its owner may read it', () => {
  const first = run(...ALICE);
  const key = readFileSync(folder.file('dev/private.pem'), 'utf8');
  const second = run(...ALICE);
  assert.equal(second.stderr, '');
  assert.equal(readFileSync(folder.file('dev/private.pem'), 'utf8'), key);
  assert.equal(statSync(folder.file('dev/private.pem')).mode & 0o777, 0o600);
  assert.equal(statSync(folder.file('dev')).mode & 0o777, 0o700);
  assert.ok(signedBy(first.stdout, 'jwks.json') && signedBy(second.stdout, 'jwks.json'));
  assert.notEqual(decoded(first.stdout).claims.jti, decoded(second.stdout).claims.jti);
});

test('claims, audience and time follow the configuration and the command', () => {
  folder.write(
    'lockkeeper.yaml',
    SAMPLE.replace(
      'subject: sub, tenant: tenant, groups: groups, client: client_id',
      'subject: oid, groups: realm.roles, client: azp',
    ).replace('tenants: [acme]  ', 'audience: fixed\n      scopes: [a, b]\n      tenants: [acme]  '),
  );
  const { status, stdout, stderr } = run(...ALICE, '--ttl', '15m', '--client', 'desk');
  assert.equal(status, 0, stderr);
  const { iat, exp, jti, ...claims } = decoded(stdout).claims as { iat: number; exp: number; jti: string };
  assert.equal(exp - iat, 900);
  assert.deepEqual(claims, {
    iss: 'https://idp.example',
    aud: 'fixed',
    sub: 'alice',
    oid: 'alice',
    'realm.roles': ['dev', 'ops'],
    azp: 'desk',
    scope: 'a b',
  });
  assert.ok(jti);
});

test('a key file that is there is never touched', () => {
  folder.write('jwks.json', '{"keys":[{"kid":"theirs"}]}');
  const { status, stdout, stderr } = run(...ALICE);
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /no issuer has the development key in its jwksFile/);
  assert.equal(readFileSync(folder.file('jwks.json'), 'utf8'), '{"keys":[{"kid":"theirs"}]}');
});

test('what cannot be is told in words', () => {
  for (const [args, words] of [
    [[], /^usage: /],
    [['--sub', 'a'], /^usage: /],
    [
      ['--sub', 'a', '--route', '/nowhere/mcp'],
      /no route \/nowhere\/mcp; routes: \/acme\/everything\/mcp, \/acme\/mcp/,
    ],
    [[...ALICE, '--tenant', 'other'], /may not assert tenant other/],
    [[...ALICE, '--ttl', 'long'], /--ttl: give 30s/],
    [[...ALICE, '--ttl', '31d'], /30 days at most/],
    [[...ALICE, '--config', 'none.yaml'], /none\.yaml:1:1: .*does not exist/],
  ] as const) {
    const { status, stdout, stderr } = run(...args);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr.replace(/^(made|wrote) .*\n/gm, ''), words);
  }
  folder.write('lockkeeper.yaml', openConfig());
  assert.match(run(...ALICE).stderr, /auth\.mode is open: no token is needed/);
});
