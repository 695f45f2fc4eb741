// Do all services compute one digest for one server, and another for a changed one, without giving secrets away?

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { makeFolder, openConfig } from './sample.ts';

const one = makeFolder();
const other = makeFolder();
after(() => {
  one.remove();
  other.remove();
});

const server = (stdio: string) => openConfig().replace('command: node', `command: node, ${stdio}`);

function digest(text: string, env: Record<string, string> = {}, folder = one): string {
  return loadConfig(folder.write('c.yaml', text), env).servers.get('acme/one')!.digest;
}

test('the same server has the same digest in another folder, order of keys and notation', () => {
  const flow = digest(server('args: [a], cwd: sub, env: { A: x, B: y }'));
  assert.equal(digest(server('args: [a], cwd: sub, env: { A: x, B: y }'), {}, other), flow);
  assert.equal(digest(server('env: { "B": y, A: "x" }, cwd: sub, args: ["a"]')), flow);
});

test('what defaults say and what is written out are one', () => {
  assert.equal(
    digest(openConfig()),
    digest(openConfig().replace('stdio:', 'isolation: user, pool: { max: 8 }, stdio:')),
  );
});

test('any change of the server changes it; a change elsewhere does not', () => {
  const all = [
    openConfig(),
    server('args: [a]'),
    server('args: ["a b"]'),
    server('args: [a, b]'),
    server('env: { A: x }'),
    server('env: { A: y }'),
    server('cwd: sub'),
    openConfig().replace('stdio:', 'isolation: session, stdio:'),
    openConfig().replace('stdio:', 'ask: { roots: never }, stdio:'),
    openConfig().replace('stdio:', 'pool: { max: 9 }, stdio:'),
    openConfig().replace('stdio:', 'era: modern, stdio:'),
    openConfig().replace('stdio:', 'callTimeoutMs: 1000, stdio:'),
  ].map((text) => digest(text));
  assert.equal(new Set(all).size, all.length);
  assert.equal(digest(openConfig('limits: { holdMs: 1 }')), all[0]);
});

test('a secret changes the digest by its value, not by where it came from', () => {
  const byEnv = (name: string) => server(`args: ["\${env:${name}}"]`);
  const [a, b] = [digest(byEnv('A'), { A: 'secret-1' }), digest(byEnv('A'), { A: 'secret-2' })];
  assert.notEqual(a, b);
  assert.equal(digest(byEnv('B'), { B: 'secret-1' }), a);
  one.write('s', 'secret-1');
  assert.equal(digest(server('args: ["${file:s}"]')), a);
  assert.notEqual(digest(server('args: [secret-1]')), a);
});

test('of a server by URL its credentials count too, by their values and as keyed hashes', () => {
  const far = (key: string, more = '') =>
    openConfig()
      .replace('stdio: { command: node }', `http: { url: "https://a.example/mcp", credential: gh${more} }`)
      .replace('{ name: acme }', `{ name: acme, credentials: { gh: { X-Key: ${key} }, other: { X-Key: z } } }`);
  const first = digest(far('k1'));
  assert.notEqual(digest(far('k2')), first);
  assert.equal(digest(far('"${env:K}"'), { K: 'k1' }), first);
  assert.equal(digest(far('k1').replace('X-Key: z', 'X-Key: y')), first);
  assert.notEqual(digest(far('k1', ', cidrs: [10.0.0.0/8]')), first);
  const link = 'link: { secret: 0123456789abcdef0123456789abcdef }\n';
  assert.notEqual(digest(far('k1') + link), first);
});

test('with link.secret the hash of a secret needs that key', () => {
  const text = server('env: { A: x }');
  const secret = (s: string) => `${text}link: { secret: ${s} }\n`;
  const first = digest(secret('0123456789abcdef0123456789abcdef'));
  assert.notEqual(first, digest(text));
  assert.notEqual(first, digest(secret('fedcba9876543210fedcba9876543210')));
  assert.equal(first, digest(secret('"${env:S}"'), { S: '0123456789abcdef0123456789abcdef' }));
});

test('the digest is of canonical JSON with values of env hashed by key', () => {
  // Pinned: services of two versions must agree while a rollout goes on.
  assert.equal(
    digest(openConfig()),
    createHash('sha256')
      .update(
        '{"ask":{"elicitation":"caller","roots":"caller","sampling":"caller"},"callTimeoutMs":300000,"era":"auto",' +
          '"isolation":"user","keepsNothing":false,"name":"one","pool":{"idleMs":300000,"max":8,"maxAgeMs":86400000,' +
          '"maxUses":1000000,"minWarm":0},"startTimeoutMs":30000,"stdio":{"args":[],"command":"node","cwd":".","env":{}},' +
          '"tenant":"acme"}',
      )
      .digest('hex'),
  );
});

test('the version follows the content', () => {
  const version = (text: string, env = {}) => loadConfig(one.write('c.yaml', text), env).version;
  assert.equal(version(openConfig()), version(`# a comment\n${openConfig()}`));
  assert.notEqual(version(openConfig()), version(openConfig('limits: { holdMs: 1 }')));
  assert.notEqual(
    version(server('env: { A: "${env:A}" }'), { A: '1' }),
    version(server('env: { A: "${env:A}" }'), { A: '2' }),
  );
});
